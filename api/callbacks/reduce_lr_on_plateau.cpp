#include <algorithm>

#include <nyala/api/callbacks/base/python_text.h>
#include <nyala/api/callbacks/reduce_lr_on_plateau.h>
#include <nyala/api/model/model.h>
#include <nyala/backend/core/error.h>

namespace nyala {

using namespace nyala::detail;

ReduceLROnPlateau::ReduceLROnPlateau(const Config& config)
    : MonitorCallback("ReduceLROnPlateau", config.monitor, config.mode, config.min_delta), config_(config) {
  if (config.factor >= 1.0)
    throw InvalidArgumentError("ReduceLROnPlateau does not support a factor >= 1.0. Received factor=" +
                               python_repr(config.factor));
}

void ReduceLROnPlateau::on_train_begin(Logs&) {
  best_.reset();
  wait_ = cooldown_left_ = 0;
}

CallbackState ReduceLROnPlateau::state() const {
  return {.numbers = {static_cast<double>(wait_), static_cast<double>(cooldown_left_),
                      static_cast<double>(best_.has_value()), best_.value_or(0.0)}};
}

void ReduceLROnPlateau::set_state(const CallbackState& state) {
  wait_ = static_cast<int>(state.numbers.at(0));
  cooldown_left_ = static_cast<int>(state.numbers.at(1));
  best_.reset();
  if (state.numbers.at(2) != 0) best_ = state.numbers.at(3);
}

bool ReduceLROnPlateau::reduce(int epoch) const {
  const Optimizer optimizer = model().optimizer();
  const double old_rate = optimizer.learning_rate();
  if (!(old_rate > static_cast<double>(static_cast<float>(config_.min_lr)))) return false;
  const double new_rate = std::max(old_rate * config_.factor, config_.min_lr);
  optimizer.set_learning_rate(new_rate);
  if (config_.verbose > 0)
    print_message("\nEpoch " + std::to_string(epoch + 1) + ": ReduceLROnPlateau reducing learning rate to " +
                  python_repr(new_rate) + ".");
  return true;
}

void ReduceLROnPlateau::on_epoch_end(int epoch, Logs& logs) {
  find_direction(logs);
  logs.set("learning_rate", model().optimizer().learning_rate());
  const std::optional<double> current = monitored(logs, "Learning rate reduction is conditioned on metric");
  if (!current) return;
  if (cooldown_left_ > 0) {
    --cooldown_left_;
    wait_ = 0;
  }
  if (is_improvement(*current, best_)) {
    best_ = current;
    wait_ = 0;
  } else if (cooldown_left_ == 0 && ++wait_ >= config_.patience && reduce(epoch)) {
    cooldown_left_ = config_.cooldown;
    wait_ = 0;
  }
}

}  // namespace nyala
