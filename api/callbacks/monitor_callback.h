#pragma once

#include <optional>
#include <string>

#include <nyala/api/callbacks/base/callback.h>

namespace nyala {

/// A callback that follows one value of the logs. Mode "min" or "max" says which way is better; "auto" asks
/// the monitored metric: accuracies and the like up, losses down.
class MonitorCallback : public Callback {
 public:
  const std::string& monitor() const { return monitor_; }

 protected:
  /// An unknown mode is warned about and becomes "auto", as in Keras.
  MonitorCallback(std::string class_name, std::string monitor, std::string mode, double min_delta = 0.0);

  /// Finds the direction on first use. Throws InvalidArgumentError where mode "auto" cannot know it, naming
  /// the nearest of the logs where they have no such value.
  void find_direction(const Logs& logs);
  /// Whether `value` is better than `reference` by more than min_delta; true without a reference.
  bool is_improvement(double value, std::optional<double> reference) const;
  /// The monitored value, if the logs have it; a warning that begins with `complaint` else. Throws
  /// InvalidArgumentError for a metric that has several values.
  std::optional<double> monitored(const Logs& logs, const std::string& complaint) const;

  std::optional<double> best_;

 private:
  std::string class_name_;
  std::string monitor_;
  std::string mode_;
  double min_delta_;
  std::optional<bool> larger_is_better_;
};

}  // namespace nyala
