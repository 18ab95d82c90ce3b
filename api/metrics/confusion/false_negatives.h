#pragma once

#include <nyala/api/metrics/confusion/confusion_metric.h>

namespace nyala::metrics {

/// How many predictions (by weight) are false negatives: y_pred <= threshold where y_true is not 0. Several
/// thresholds give several results().
class FalseNegatives : public Metric {
 public:
  using Config = ConfusionCountConfig;
  /// Throws InvalidArgumentError for thresholds outside [0, 1].
  explicit FalseNegatives(const Config& config = {});
  template <size_t N>
  explicit FalseNegatives(const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala::metrics
