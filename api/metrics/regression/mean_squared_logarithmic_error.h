#pragma once

#include <nyala/api/metrics/base/metric.h>

namespace nyala::metrics {

struct MeanSquaredLogarithmicErrorConfig {
  std::string name = "mean_squared_logarithmic_error";

  void fields(FieldVisitor& v);
};

/// The mean of the loss nyala::MeanSquaredLogarithmicError over samples, by weight.
class MeanSquaredLogarithmicError : public Metric {
 public:
  using Config = MeanSquaredLogarithmicErrorConfig;
  explicit MeanSquaredLogarithmicError(const Config& config = {});
  template <size_t N>
  explicit MeanSquaredLogarithmicError(const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala::metrics
