#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nyala/backend/core/mutex.h>

namespace nyala::detail {

/// A batch of an epoch, to be trained by one worker.
struct DispensedRange {
  /// Counts the ranges of all epochs, from 1. A range that is handed out again keeps it, so that a server
  /// which has applied the push of that id drops the second one.
  uint64_t id = 0;
  int64_t epoch = 0;
  int64_t batch = 0;  ///< from 0
};

/// What a worker gets that asks for a batch.
struct DispenserAnswer {
  enum class Kind {
    range,
    wait,        ///< none is left, but those that others have may come back; or no epoch has begun
    epoch_over,  ///< all are done
    stopped,
  };
  Kind kind = Kind::wait;
  DispensedRange range = {};
};

/// Of the epoch that goes on, or ended last.
struct DispenserProgress {
  int64_t epoch = 0;
  int64_t batches = 0;                         ///< -1 as long as nobody knows
  int64_t done = 0;                            ///< batches that are done now
  int64_t outstanding = 0;                     ///< that workers have
  int64_t waiting = 0;                         ///< that were given back and that nobody has asked for yet
  int64_t given_back = 0;                      ///< how often one was, for whatever reason
  int64_t repeated = 0;                        ///< how often one that was done had to be done again
  std::map<uint64_t, int64_t> by_worker = {};  ///< how many times done() counted
};

/// What became of the batches that a server has lost.
struct RepeatedRanges {
  int64_t again = 0;  ///< are handed out again
  int64_t gone = 0;   ///< cannot be: their epoch is over or was stopped
};

/// Hands the batches of an epoch out to asynchronous workers, in order, each to one of them. One that comes
/// back goes to the next worker that asks, before new ones, the first batch first. Each is counted once, and
/// once more each time that a restart of a server undid it.
///
/// A state machine without threads, clock, input or output. All functions may be called by any thread.
class RangeDispenser {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  /// `batches` below 0: workers find out (ended()). Whatever the epoch before has left is dropped: done() of
  /// it counts no more.
  void begin_epoch(int64_t epoch, int64_t batches);
  /// Nothing more of this epoch is handed out, nor comes back; what workers have still counts.
  void stop();

  DispenserAnswer next(uint64_t worker, TimePoint now);

  /// The worker's push of that range was acknowledged by all servers. True where it counts. False where the
  /// range was done before, where another worker has it by now, where servers lost pushes meanwhile
  /// (again_since()), and where its epoch is over: then the caller must not count what the batch came to
  /// (loss, metrics). Nothing has to be undone at the servers, which apply each id once, whoever pushes it.
  /// Throws StateError for a batch behind the end of another worker's data.
  bool done(uint64_t worker, uint64_t id);
  /// The worker's data has no batch of that number, nor later ones: the epoch has so many batches. Without
  /// effect where the worker does not have the range. Throws StateError where a later batch is done: then the
  /// workers' data differs.
  void ended(uint64_t worker, uint64_t id);

  /// The worker is gone: what it has comes back. How many that are.
  int64_t lost(uint64_t worker);
  /// What was handed out `lease` ago or longer comes back; whoever has it may still be the first that is
  /// done.
  int64_t expire(TimePoint now, std::chrono::steady_clock::duration lease);

  /// To be called when a server begins a snapshot: what done() has counted until then is in it. Grows by one
  /// with each range that is counted.
  uint64_t mark() const;
  /// A server was started again from the snapshot of that mark: all ranges that were counted since are handed
  /// out again. So are those that workers have now, since their push may have been acknowledged before;
  /// done() of these is false. Throws InvalidArgumentError for a mark that has not been yet.
  RepeatedRanges again_since(uint64_t mark);

  /// All that was begun is done, or nobody has a range after stop(). False before the first epoch.
  bool is_epoch_over() const;
  DispenserProgress progress() const;

  /// Everything, for a coordinator that is started again. Eight bytes per batch of the epoch.
  std::string snapshot() const;
  /// Instead of all that is here. What workers had then comes back, and done() by those who had it counts if
  /// nobody else has it. Throws InvalidArgumentError for bytes that are no snapshot; then nothing has
  /// changed.
  void restore(std::string_view bytes);

 private:
  struct Holder {
    uint64_t worker = 0;
    TimePoint since = {};
  };
  /// By batch.
  using Held = std::map<int64_t, Holder>;
  struct State {
    bool has_begun = false, is_stopped = false;
    int64_t epoch = 0;
    int64_t batches = 0;          ///< more than there can be as long as nobody knows
    uint64_t first_id = 1;        ///< of batch 0
    uint64_t counted = 0;         ///< by done(), in all epochs
    uint64_t counted_before = 0;  ///< this epoch
    int64_t given_back = 0, repeated = 0;
    /// Of each batch that was handed out: which one it was that done() counted, from 1; 0: it is not done.
    std::vector<uint64_t> done = {};
    Held held = {};
    /// That came back, with who had it last, whose done() counts; none where it does not.
    std::map<int64_t, std::optional<uint64_t>> returned = {};
    std::map<uint64_t, int64_t> by_worker = {};

    int64_t handed_out() const { return static_cast<int64_t>(done.size()); }
    bool is_over() const;
    std::optional<int64_t> batch_of(uint64_t id) const;
    Held::iterator give_back(Held::iterator holder, std::optional<uint64_t> last);
  };

  static State decoded(std::string_view bytes);

  mutable Mutex mutex_;
  State state_;
};

}  // namespace nyala::detail
