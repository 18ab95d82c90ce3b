#pragma once

#include <csignal>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <nyala/api/callbacks/base/callback.h>
#include <nyala/api/callbacks/base/end_of_training.h>
#include <nyala/api/callbacks/training_backup.h>
#include <nyala/backend/runtime/signal_watch.h>

namespace nyala {

/// The exit status by which a program says that it was preempted and wants to be started again
/// (TensorFlow's).
inline constexpr int preemption_exit_code = 42;

/// Training was preempted and its checkpoint is written: nothing is wrong, but the process has to end. A
/// program catches it around fit and exits with preemption_exit_code. Says where the checkpoint is.
class PreemptedError : public EndOfTraining {
 public:
  using EndOfTraining::EndOfTraining;
};

struct PreemptionCheckpointHandlerConfig {
  /// Those that announce the end of the machine.
  std::vector<int> termination_signals = {SIGTERM};
  /// TensorFlow's, for clouds that announce it otherwise: asked after each step, true preempts.
  std::function<bool()> termination_watcher_fn = {};
  /// Removes the checkpoint, and the folder if nothing else is in it (one that was there empty before
  /// stays), once training has ended by itself.
  bool delete_checkpoint = true;
};

/// TensorFlow's tf.distribute.experimental.PreemptionCheckpointHandler, as a callback of fit. When a signal
/// comes the step that runs ends, a checkpoint is saved into `checkpoint_dir` and fit throws PreemptedError:
/// neither the epoch nor training end, so no validation runs and no other hook is called. A second signal
/// does what it does by default: it ends the process at once, the last checkpoint whole. fit of the program
/// that is started again restores it and goes on, with bit-identical results under the conditions of
/// BackupAndRestore, which may share the folder. A signal during a validation is taken note of and answered
/// at its end. Signals are watched from the beginning of fit to its end, or, where something else throws, to
/// the end of this object.
///
///     try {
///       model.fit(data, {.callbacks = {PreemptionCheckpointHandler("checkpoints")}});
///     } catch (const PreemptedError&) {
///       return preemption_exit_code;
///     }
class PreemptionCheckpointHandler : public Callback {
 public:
  using Config = PreemptionCheckpointHandlerConfig;
  /// Throws InvalidArgumentError for an empty path.
  explicit PreemptionCheckpointHandler(std::string checkpoint_dir, Config config = {});
  template <size_t N>
  explicit PreemptionCheckpointHandler(std::string, const NoSuchField (&)[N]) = delete;

  /// Whether the last fit was preempted.
  bool preempted() const { return preempted_; }

  /// Throws InvalidArgumentError for a signal that cannot be watched (SIGKILL), StateError for a model that
  /// is not built, IoError where the folder cannot be made or written to, and what Checkpoint::restore
  /// throws.
  void on_train_begin(Logs& logs) override;
  void on_epoch_begin(int epoch, Logs& logs) override;
  /// These three throw PreemptedError, and what Checkpoint::save throws.
  void on_train_batch_end(int64_t batch, Logs& logs) override;
  void on_test_begin(Logs& logs) override;
  void on_epoch_end(int epoch, Logs& logs) override;
  void on_train_end(Logs& logs) override;

 private:
  bool is_wanted() const;
  [[noreturn]] void preempt(const TrainingPosition& position);

  detail::TrainingBackup backup_;
  Config config_;
  std::shared_ptr<SignalWatch> watch_;  // while fit runs
  TrainingPosition position_;           // after the last step
  bool preempted_ = false;
};

}  // namespace nyala
