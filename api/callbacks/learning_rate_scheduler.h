#pragma once

#include <functional>

#include <nyala/api/callbacks/base/callback.h>
#include <nyala/backend/core/check_is_function.h>

namespace nyala {

struct LearningRateSchedulerConfig {
  int verbose = 0;
};

/// Sets the learning rate at the beginning of each epoch to what a function of (epoch, learning rate) or of
/// (epoch) says, and adds learning_rate to the logs at its end. Throws InvalidArgumentError for an empty
/// function.
class LearningRateScheduler : public Callback {
 public:
  using Config = LearningRateSchedulerConfig;
  template <class Schedule>
  requires std::is_invocable_r_v<double, Schedule, int, double> ||
      std::is_invocable_r_v<double, Schedule, int>
  explicit LearningRateScheduler(Schedule schedule, const Config& config = {}) : config_(config) {
    detail::check_is_function(schedule, "LearningRateScheduler");
    if constexpr (std::is_invocable_r_v<double, Schedule, int, double>)
      schedule_ = [schedule](int epoch, double rate) { return schedule(epoch, rate); };
    else
      schedule_ = [schedule](int epoch, double) { return schedule(epoch); };
  }

  /// Throws StateError if the optimizer's learning rate is a schedule.
  void on_epoch_begin(int epoch, Logs& logs) override;
  void on_epoch_end(int epoch, Logs& logs) override;

 private:
  std::function<double(int, double)> schedule_;
  Config config_;
};

}  // namespace nyala
