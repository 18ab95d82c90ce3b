#pragma once

#include <nyala/api/metrics/confusion/confusion_metric.h>

namespace nyala::metrics {

/// How many predictions (by weight) are true positives: y_pred > threshold where y_true is not 0. Several
/// thresholds give several results().
class TruePositives : public Metric {
 public:
  using Config = ConfusionCountConfig;
  /// Throws InvalidArgumentError for thresholds outside [0, 1].
  explicit TruePositives(const Config& config = {});
  template <size_t N>
  explicit TruePositives(const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala::metrics
