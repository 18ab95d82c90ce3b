#pragma once

#include <nyala/api/metrics/confusion/confusion_metric.h>

namespace nyala::metrics {

/// How many predictions (by weight) are false positives: y_pred > threshold where y_true is 0. Several
/// thresholds give several results().
class FalsePositives : public Metric {
 public:
  using Config = ConfusionCountConfig;
  /// Throws InvalidArgumentError for thresholds outside [0, 1].
  explicit FalsePositives(const Config& config = {});
  template <size_t N>
  explicit FalsePositives(const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala::metrics
