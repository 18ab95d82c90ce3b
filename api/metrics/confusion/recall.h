#pragma once

#include <nyala/api/metrics/confusion/confusion_metric.h>

namespace nyala::metrics {

/// true positives / (true positives + false negatives), 0 of nothing. Positive is y_true != 0, predicted
/// so y_pred > threshold. With top_k only the k largest of the last axis are predicted; with class_id only
/// that class counts. Several thresholds give several results().
class Recall : public Metric {
 public:
  using Config = PrecisionRecallConfig;
  /// Throws InvalidArgumentError for thresholds outside [0, 1] and a negative top_k or class_id.
  explicit Recall(const Config& config = {});
  template <size_t N>
  explicit Recall(const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala::metrics
