#pragma once

#include <nyala/api/metrics/base/metric.h>

namespace nyala::metrics {

struct RootMeanSquaredErrorConfig {
  std::string name = "root_mean_squared_error";

  void fields(FieldVisitor& v);
};

/// The root of the mean of (y_true - y_pred)^2 over all updates.
class RootMeanSquaredError : public Metric {
 public:
  using Config = RootMeanSquaredErrorConfig;
  explicit RootMeanSquaredError(const Config& config = {});
  template <size_t N>
  explicit RootMeanSquaredError(const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala::metrics
