#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace nyala::detail {

/// Marks of snapshots count functions from here on; those of fit() count batches, and are below. Servers
/// answer them as doubles, which have 53 bits.
inline constexpr uint64_t kFunctionMarks = uint64_t{1} << 52;

/// What became of a scheduled function. Shared by whoever waits for it and whoever carries it out.
class FunctionOutcome {
 public:
  enum class State { pending, returned, threw, cancelled };
  using Bytes = std::vector<std::byte>;

  /// The first of these counts. `bytes` is what the function returned, `text` why there is nothing.
  void returned(Bytes bytes);
  void threw(Bytes error);
  void cancelled(const std::string& text);

  State state() const;
  /// False where it is still pending after that time.
  bool wait(std::chrono::milliseconds time) const;
  /// Once it is no longer pending: what returned() or threw() was given.
  const Bytes& bytes() const { return bytes_; }
  const std::string& text() const { return text_; }

 private:
  bool settle(State state);

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  State state_ = State::pending;
  Bytes bytes_;
  std::string text_;
};

/// A function that the chief has scheduled.
struct ScheduledFunction {
  uint64_t id = 0;  ///< counts all of the job, from 1; the same when another worker carries it out again
  std::string name;
  std::shared_ptr<const std::vector<std::byte>> arguments;
  std::shared_ptr<FunctionOutcome> outcome;
  bool is_again = false;  ///< a server has lost what it did there

  bool is_needed() const { return is_again || outcome->state() == FunctionOutcome::State::pending; }
};

/// Hands scheduled functions out to whichever worker asks, in order, each at least once: what a lost worker
/// had goes to the next one that asks, before new ones. The first end of one counts.
///
/// A state machine without threads, clock, input or output; whoever owns it takes care that one thread at a
/// time calls it.
class FunctionQueue {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  using Bytes = FunctionOutcome::Bytes;

  /// So many may wait at most (as in TensorFlow).
  static constexpr size_t kMost = size_t{256} * 1024;
  bool is_full() const { return waiting_.size() >= kMost; }

  std::shared_ptr<FunctionOutcome> add(std::string name, std::shared_ptr<const Bytes> arguments);
  /// Null where none waits.
  const ScheduledFunction* next(uint64_t worker, TimePoint now);
  /// Of the one that the worker has.
  std::shared_ptr<const Bytes> arguments_of(uint64_t worker) const {
    return running_.at(worker).function.arguments;
  }
  /// What the worker's function of that id came to. One that threw cancels all that wait.
  void returned(uint64_t worker, uint64_t id, Bytes bytes);
  void threw(uint64_t worker, uint64_t id, Bytes error);

  /// The worker is gone: whether it had one.
  bool lost(uint64_t worker);
  /// Who has one for that long is thought lost; if it comes to an end first all the same, that counts.
  void expire(TimePoint now, std::chrono::steady_clock::duration lease);

  /// None waits, and nobody has one that counts.
  bool is_idle() const;
  /// The bytes of the first error since the last call, which is forgotten.
  std::optional<Bytes> take_error();
  bool has_error() const { return error_.has_value(); }
  void cancel_waiting(const std::string& why);

  /// What returns from now on stays here until a snapshot of all servers has it.
  void keep_returned(bool keep) { keeps_ = keep; }
  /// How many have returned, in all of the job.
  uint64_t mark() const { return returned_; }
  /// Servers have all that had returned at that mark.
  void forget_until(uint64_t mark);
  /// A server has lost what returned since that mark, and maybe what is carried out now: that is done again.
  /// How many functions.
  int64_t again_since(uint64_t mark);

 private:
  struct Running {
    ScheduledFunction function;
    TimePoint since = {};
    bool is_late = false;  // another one does it, or has done it
  };
  struct Returned {
    uint64_t mark = 0;  // which one it was
    ScheduledFunction function;
  };

  void put_back(ScheduledFunction function, bool is_again = false);
  std::optional<ScheduledFunction> take(uint64_t worker, uint64_t id);

  std::deque<ScheduledFunction> waiting_;
  std::map<uint64_t, Running> running_;  // by worker
  std::deque<Returned> kept_;
  bool keeps_ = false;
  uint64_t next_id_ = 0, returned_ = 0;
  std::optional<Bytes> error_;
};

}  // namespace nyala::detail
