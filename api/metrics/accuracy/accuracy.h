#pragma once

#include <nyala/api/metrics/base/metric.h>

namespace nyala::metrics {

struct AccuracyConfig {
  std::string name = "accuracy";

  void fields(FieldVisitor& v);
};

/// How often y_pred equals y_true, elementwise.
class Accuracy : public Metric {
 public:
  using Config = AccuracyConfig;
  explicit Accuracy(const Config& config = {});
  template <size_t N>
  explicit Accuracy(const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala::metrics
