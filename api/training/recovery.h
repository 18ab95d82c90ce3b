#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <nyala/api/training/compiled_facts.h>
#include <nyala/api/training/state/training_state.h>
#include <nyala/backend/core/error.h>
#include <nyala/strategies/process_generations.h>

namespace nyala {

class CallbackList;
class ModelNode;

/// What a training goes on from when one of its strategy's processes is lost: a copy of its state in memory,
/// taken after every step while that costs little, and the way to the next generation, in which all take the
/// most advanced copy. Of a strategy whose processes have one generation, or no others, it does nothing.
class Recovery {
 public:
  /// Counts a training, which is to be the same one in all processes. The state of `callbacks` goes on, too.
  /// `call`: in place of a training a call between trainings that all processes make, by its name; it changes
  /// nothing, and begins again where one is lost.
  Recovery(const std::shared_ptr<ModelNode>& model, CallbackList& callbacks, const char* call = nullptr);
  Recovery(const Recovery&) = delete;
  Recovery& operator=(const Recovery&) = delete;

  /// By which all processes know the training.
  int64_t number() const { return training_; }
  /// Whether the others have done this training already, when this process was started again or stood still.
  bool is_past() const;
  /// That is so: what they made of the model comes when all meet, and to read it before is an error. `learn`:
  /// as go_on_here()'s.
  void pass_over(const std::function<void()>& learn);
  /// Whether the others are in the middle of it.
  bool is_awaited() const;
  /// Where training begins, and what it was told, which has to be the same in a process that is started
  /// again. Until the first step the model itself is what there is to go on from.
  void begin(const TrainingPosition& position, TrainingFacts settings);
  /// Called when all have come, before anything changes: takes a copy where that needs all processes, of
  /// sums over replicas.
  void keep_begin();
  /// The hooks at the beginning of that epoch have been called.
  void note_begun(int epoch) { begun_epoch_ = epoch; }

  bool has_copy() const { return !generations_ || (has_copy_ && !is_of_begin_); }
  /// Called after each step: takes a copy where one is due.
  void keep(const TrainingPosition& position, const FinishedEpochs& finished);
  /// The same at the end of an epoch, in any case. What callbacks did there may differ where one process is
  /// new to training and its callbacks know less (those of a program that keep no state): all take the model
  /// of the one that trains longest.
  void keep_epoch(const TrainingPosition& position, const FinishedEpochs& finished);

  /// Called where an epoch begins, with different settings in some process: the same where one is new to
  /// training. Else it does nothing, which is the same in all processes.
  void align_newcomers(const TrainingPosition& position, const FinishedEpochs& finished);

  /// Whether the loss of a process is not the end.
  bool can_go_on() const;
  /// Meets the others in this generation (is_awaited()) or, after `error`, in the next one, where the model
  /// becomes what the most advanced process kept. Null where the others are in a later training by then
  /// (is_past()). `learn` builds model and optimizer for the shapes of the data. Throws CommunicationError
  /// where nobody comes, StateError where this process was started again with another model or other
  /// settings (the others go on without it), and where the others run different programs.
  const TrainingState* go_on_here(const std::function<void()>& learn);
  const TrainingState* go_on_after(const CommunicationError& error, const std::function<void()>& learn);
  /// The same state once more.
  void restore();

  /// Calls hooks at the beginning or the end of training. Where they throw, the others, whose hooks did not,
  /// get CommunicationError with the text.
  void call_at_edge(const std::function<void()>& hooks);
  /// All processes have done it.
  void finish();
  /// Called after the hooks at the end of training: what these did to the model is the same everywhere then,
  /// as keep_epoch() has it. A process that was lost since is none of its business; throws
  /// CommunicationError where an error of the program has ended it.
  void align_at_end();
  /// `error` of a process that cannot go on, with what ended the others' training.
  [[noreturn]] void rethrow(const CommunicationError& error) const;
  /// Ends the training of all, for an error of the program.
  void end(const std::string& reason) noexcept;

 private:
  using Clock = std::chrono::steady_clock;
  void copy(const TrainingPosition& position, const FinishedEpochs& finished);
  void copy_here(const TrainingPosition& position, const FinishedEpochs& finished);
  void align();
  void tell_of_differences(int root, bool has_newcomers);
  void measure(Clock::time_point begun, Clock::time_point ended);
  bool meet(const std::function<void()>& learn);
  void refuse_newcomers(const std::vector<int>& ranks, bool is_one);
  void take_from(int root);

  std::string goes_on() const;

  const char* const call_;  // null: a training
  const std::string who_;   // begins its messages
  std::shared_ptr<ModelNode> shared_;
  ModelNode& model_;
  CallbackList& callbacks_;
  ProcessGenerations* generations_;  // null: there are none
  const ProcessGenerations::InCall in_call_;
  int64_t training_ = 0;
  TrainingPosition begin_;
  int begun_epoch_ = -1;
  TrainingFacts settings_;
  bool is_new_ = false;      // started again, and without the others' state so far
  bool is_refused_ = false;  // by them
  TrainingState state_;
  bool has_copy_ = false, is_of_begin_ = false;  // of keep_begin()
  int64_t every_ = 1, since_ = 0;  // steps between two copies, and since the last one
  int64_t steps_here_ = 0;         // that this process has done
  int64_t open_generation_ = 0;    // of which it is said whether newcomers are taken in
  double copy_seconds_ = 0, step_seconds_ = 0;
  Clock::time_point last_{};
  // Of the last meeting.
  int size_ = 0, newcomers_ = 0, standstills_ = 0;
  TrainingPosition met_at_{-1, 0};
};

}  // namespace nyala
