#pragma once

#include <nyala/api/metrics/base/metric.h>

namespace nyala::metrics {

struct MeanAbsoluteErrorConfig {
  std::string name = "mean_absolute_error";

  void fields(FieldVisitor& v);
};

/// The mean of the loss nyala::MeanAbsoluteError over samples, by weight.
class MeanAbsoluteError : public Metric {
 public:
  using Config = MeanAbsoluteErrorConfig;
  explicit MeanAbsoluteError(const Config& config = {});
  template <size_t N>
  explicit MeanAbsoluteError(const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala::metrics
