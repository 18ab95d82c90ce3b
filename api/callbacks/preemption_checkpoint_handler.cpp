#include <nyala/api/callbacks/preemption_checkpoint_handler.h>

#include <nyala/api/model/model.h>
#include <nyala/api/training/among_processes.h>

namespace nyala {

PreemptionCheckpointHandler::PreemptionCheckpointHandler(std::string checkpoint_dir, Config config)
    : backup_(std::move(checkpoint_dir), "PreemptionCheckpointHandler"), config_(std::move(config)) {}

bool PreemptionCheckpointHandler::is_wanted() const {
  if (!watch_) return false;  // an evaluation that is none of fit's
  const bool here =
      watch_->signal() != 0 || (config_.termination_watcher_fn && config_.termination_watcher_fn());
  return any_stops(*model().model_node().strategy(), here);  // all processes in the same step
}

void PreemptionCheckpointHandler::preempt(const TrainingPosition& position) {
  backup_.save(model(), position);
  const int signal = watch_->signal();
  watch_.reset();
  preempted_ = true;
  throw PreemptedError(
      "fit: preempted" + (signal ? " by signal " + std::to_string(signal) : std::string()) + "; " +
      detail::in_quotes(backup_.path()) + " has epoch " + std::to_string(position.epoch) + ", batch " +
      std::to_string(position.batch) +
      ": exit with preemption_exit_code, fit goes on there when the program is started again");
}

void PreemptionCheckpointHandler::on_train_begin(Logs&) {
  preempted_ = false;
  watch_.reset();
  position_ = backup_.begin(model());
  watch_ = std::make_shared<SignalWatch>(config_.termination_signals);
}

// The epoch that is resumed begins after batches that were trained on before.
void PreemptionCheckpointHandler::on_epoch_begin(int epoch, Logs&) {
  if (position_.epoch != epoch) position_ = {epoch, 0};
}

void PreemptionCheckpointHandler::on_train_batch_end(int64_t batch, Logs&) {
  position_.batch = batch + 1;
  if (is_wanted()) preempt(position_);
}

// The sums of the epoch are still those of training.
void PreemptionCheckpointHandler::on_test_begin(Logs&) {
  if (is_wanted()) preempt(position_);
}

void PreemptionCheckpointHandler::on_epoch_end(int epoch, Logs&) {
  if (is_wanted()) preempt({epoch + 1, 0});
}

void PreemptionCheckpointHandler::on_train_end(Logs&) {
  watch_.reset();
  if (config_.delete_checkpoint) backup_.remove(model());
}

}  // namespace nyala
