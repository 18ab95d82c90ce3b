#pragma once

#include <vector>

#include <nyala/api/losses/sparse_categorical_crossentropy.h>
#include <nyala/api/metrics/metric.h>

namespace nyala::metrics {

struct PrecisionConfig {
  std::vector<double> thresholds = {};  // empty: 0.5, with top_k any score
  int64_t top_k = 0;                    // 0: all
  int64_t class_id = kNoClass;          // kNoClass: all
  std::string name = {};

  void fields(FieldVisitor& v);
};

/// true positives / (true positives + false positives), 0 of nothing. Positive is y_true != 0, predicted
/// so y_pred > threshold. With top_k only the k largest of the last axis are predicted; with class_id only
/// that class counts. Several thresholds give several results().
class Precision : public Metric {
 public:
  using Config = PrecisionConfig;
  /// Throws InvalidArgumentError for thresholds outside [0, 1] and a negative top_k or class_id.
  explicit Precision(const Config& config = {});
};

}  // namespace nyala::metrics
