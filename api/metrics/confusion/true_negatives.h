#pragma once

#include <nyala/api/metrics/confusion/confusion_metric.h>

namespace nyala::metrics {

/// How many predictions (by weight) are true negatives: y_pred <= threshold where y_true is 0. Several
/// thresholds give several results().
class TrueNegatives : public Metric {
 public:
  using Config = ConfusionCountConfig;
  /// Throws InvalidArgumentError for thresholds outside [0, 1].
  explicit TrueNegatives(const Config& config = {});
  template <size_t N>
  explicit TrueNegatives(const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala::metrics
