#pragma once

#include <nyala/api/metrics/base/metric.h>

namespace nyala::metrics {

struct SparseCategoricalAccuracyConfig {
  std::string name = "sparse_categorical_accuracy";

  void fields(FieldVisitor& v);
};

/// How often the largest of y_pred's last axis, the first of equal ones, is at the class number y_true.
class SparseCategoricalAccuracy : public Metric {
 public:
  using Config = SparseCategoricalAccuracyConfig;
  explicit SparseCategoricalAccuracy(const Config& config = {});
  template <size_t N>
  explicit SparseCategoricalAccuracy(const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala::metrics
