#pragma once

#include <nyala/api/metrics/base/metric.h>

namespace nyala::metrics {

struct MeanAbsolutePercentageErrorConfig {
  std::string name = "mean_absolute_percentage_error";

  void fields(FieldVisitor& v);
};

/// The mean of the loss nyala::MeanAbsolutePercentageError over samples, by weight.
class MeanAbsolutePercentageError : public Metric {
 public:
  using Config = MeanAbsolutePercentageErrorConfig;
  explicit MeanAbsolutePercentageError(const Config& config = {});
  template <size_t N>
  explicit MeanAbsolutePercentageError(const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala::metrics
