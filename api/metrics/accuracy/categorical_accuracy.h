#pragma once

#include <nyala/api/metrics/base/metric.h>

namespace nyala::metrics {

struct CategoricalAccuracyConfig {
  std::string name = "categorical_accuracy";

  void fields(FieldVisitor& v);
};

/// How often the largest of y_pred's last axis, the first of equal ones, is where the largest of y_true is.
class CategoricalAccuracy : public Metric {
 public:
  using Config = CategoricalAccuracyConfig;
  explicit CategoricalAccuracy(const Config& config = {});
  template <size_t N>
  explicit CategoricalAccuracy(const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala::metrics
