#pragma once

#include <nyala/api/metrics/base/metric.h>

namespace nyala::metrics {

struct BinaryAccuracyConfig {
  std::string name = "binary_accuracy";
  double threshold = 0.5;

  void fields(FieldVisitor& v);
};

/// How often y_pred > threshold is what y_true (0 or 1) says, elementwise.
class BinaryAccuracy : public Metric {
 public:
  using Config = BinaryAccuracyConfig;
  explicit BinaryAccuracy(const Config& config = {});
  template <size_t N>
  explicit BinaryAccuracy(const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala::metrics
