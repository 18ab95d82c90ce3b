#include <cmath>

#include <nyala/api/callbacks/base/python_text.h>
#include <nyala/api/callbacks/early_stopping.h>
#include <nyala/api/model/model.h>

namespace nyala {

using namespace nyala::detail;

EarlyStopping::EarlyStopping(const Config& config)
    : MonitorCallback("EarlyStopping", config.monitor, config.mode, config.min_delta), config_(config) {}

void EarlyStopping::on_train_begin(Logs&) {
  wait_ = stopped_epoch_ = best_epoch_ = 0;
  best_.reset();
  best_weights_.clear();
  has_weights_ = false;
}

void EarlyStopping::keep_weights(int epoch) {
  best_weights_ = model().get_weights();
  has_weights_ = true;
  best_epoch_ = epoch;
}

void EarlyStopping::on_epoch_end(int epoch, Logs& logs) {
  find_direction(logs);
  const std::optional<double> current = monitored(logs, "Early stopping conditioned on metric");
  if (!current || epoch < config_.start_from_epoch) return;
  // The monitored value may be NaN from the first epoch on.
  if (config_.restore_best_weights && !has_weights_) keep_weights(epoch);
  ++wait_;
  if (is_improvement(*current, best_)) {
    best_ = current;
    best_epoch_ = epoch;
    if (config_.restore_best_weights) keep_weights(epoch);
    if (std::isnan(config_.baseline) || is_improvement(*current, config_.baseline)) wait_ = 0;
    return;
  }
  if (wait_ >= config_.patience && epoch > 0) {
    stopped_epoch_ = epoch;
    model().set_stop_training(true);
  }
}

CallbackState EarlyStopping::state() const {
  return {.numbers = {static_cast<double>(wait_), static_cast<double>(stopped_epoch_),
                      static_cast<double>(best_epoch_), static_cast<double>(best_.has_value()),
                      best_.value_or(0.0), static_cast<double>(has_weights_)},
          .values = best_weights_};
}

void EarlyStopping::set_state(const CallbackState& state) {
  wait_ = static_cast<int>(state.numbers.at(0));
  stopped_epoch_ = static_cast<int>(state.numbers.at(1));
  best_epoch_ = static_cast<int>(state.numbers.at(2));
  best_.reset();
  if (state.numbers.at(3) != 0) best_ = state.numbers.at(4);
  has_weights_ = state.numbers.at(5) != 0;
  best_weights_ = state.values;
}

void EarlyStopping::on_train_end(Logs&) {
  if (stopped_epoch_ > 0 && config_.verbose > 0)
    print_message("Epoch " + std::to_string(stopped_epoch_ + 1) + ": early stopping");
  if (!config_.restore_best_weights || !has_weights_) return;
  if (config_.verbose > 0)
    print_message(
        "Restoring model weights from the end of the best epoch: " + std::to_string(best_epoch_ + 1) + ".");
  model().set_weights(best_weights_);
}

}  // namespace nyala
