#pragma once

#include <nyala/api/metrics/base/metric.h>

namespace nyala::metrics {

struct MeanSquaredErrorConfig {
  std::string name = "mean_squared_error";

  void fields(FieldVisitor& v);
};

/// The mean of the loss nyala::MeanSquaredError over samples, by weight.
class MeanSquaredError : public Metric {
 public:
  using Config = MeanSquaredErrorConfig;
  explicit MeanSquaredError(const Config& config = {});
  template <size_t N>
  explicit MeanSquaredError(const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala::metrics
