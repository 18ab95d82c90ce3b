#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nyala/strategies/adoptable.h>
#include <nyala/strategies/communicators/process_group.h>
#include <nyala/strategies/communicators/process_link.h>

namespace nyala {

/// The last training of a model, by its number.
struct EarlierTraining {
  int64_t number = 0;
  std::weak_ptr<Adoptable> model;
  bool is_awaited = false;  // only the others have done it
  Variables awaited = {};   // whose values nobody has assigned here since
};

/// The processes of one strategy as a training sees them: it goes on with those of the next generation where
/// one of this is lost. One thread at a time, between steps.
class ProcessGenerations {
 public:
  /// `connected` is called with what each generation speaks by, once the link has it.
  using Connected = std::function<void(const ProcessCommunicators&)>;

  /// Joins the first generation.
  ProcessGenerations(std::shared_ptr<ProcessGroup> group, std::shared_ptr<ProcessLink> link);
  /// Leaves, unless an error ends the program.
  ~ProcessGenerations();
  ProcessGenerations(const ProcessGenerations&) = delete;
  ProcessGenerations& operator=(const ProcessGenerations&) = delete;

  void set_connected(Connected connected) { connected_ = std::move(connected); }
  const ProcessCommunicators& communicators() const { return communicators_; }

  /// Whether a failure is not the end.
  bool can_go_on() const { return group_->can_rejoin(); }
  /// Gives this generation up and waits for the next. `training`: ProcessLink::connect(). Processes that are
  /// lost meanwhile are waited for, too. Throws CommunicationError where there is no next one.
  void begin_next(int64_t training);
  /// ProcessGroup's; called by all processes, heeded of the first.
  void take_newcomers(bool takes) noexcept;
  /// How many there were.
  int64_t number() const { return number_; }
  /// Ends training everywhere, with the text of an error.
  void end(const std::string& reason) noexcept { group_->abort(reason); }
  /// That text, once somebody has; "" before.
  std::string ended_by() const { return group_->ended_by(); }

  ProcessLink& link() { return *link_; }
  /// `data` of `root` on all processes.
  void broadcast(std::span<std::byte> data, int root, std::string_view what);
  /// The number of a training that begins: the same in processes that run the same program, and larger than
  /// those before.
  int64_t count_training() { return count_ = first_of(training_of(count_) + 1); }
  /// The same of a call between trainings that all processes make (evaluate, predict, save).
  int64_t count_call() { return ++count_; }
  /// Which training that is, from 1, or which one the call is behind (0: none).
  static int64_t training_of(int64_t number) { return number >> kCallBits; }
  /// The number of a training, below those of the calls behind it.
  static int64_t first_of(int64_t training) { return training << kCallBits; }

  /// What training, evaluate and others are in, for calls inside of them.
  class InCall {
   public:
    explicit InCall(ProcessGenerations* generations) : generations_(generations) {
      if (generations_) ++generations_->depth_;
    }
    ~InCall() {
      if (generations_) --generations_->depth_;
    }
    InCall(const InCall&) = delete;
    InCall& operator=(const InCall&) = delete;

   private:
    ProcessGenerations* generations_;
  };
  bool is_in_call() const { return depth_ > 0; }

  /// What calls between trainings gave, by their number, for processes that are started again: these get it
  /// where a generation begins.
  std::map<int64_t, std::vector<std::byte>> results = {};

  /// The trainings that are done, of each model the last one, in their order.
  std::vector<EarlierTraining> earlier = {};

  /// What training keeps in memory to go on from, for Strategy::describe().
  std::string kept = {};
  /// "3 processes of ...".
  std::string describe() const { return group_->describe(); }

 private:
  void join(int64_t training);
  void send_results();
  std::optional<std::chrono::milliseconds> time_left() const;

  static constexpr int kCallBits = 32;
  std::shared_ptr<ProcessGroup> group_;
  std::shared_ptr<ProcessLink> link_;
  ProcessCommunicators communicators_;
  Connected connected_;
  int64_t number_ = 0, count_ = 0;
  int depth_ = 0;
  int unwinding_;
};

}  // namespace nyala
