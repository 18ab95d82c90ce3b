#pragma once

#include <nyala/api/metrics/base/metric.h>

namespace nyala::metrics {

struct MeanConfig {
  std::string name = "mean";

  void fields(FieldVisitor& v);
};

/// The mean of the values given to update_state, by weight.
class Mean : public Metric {
 public:
  using Config = MeanConfig;
  explicit Mean(const Config& config = {});
  template <size_t N>
  explicit Mean(const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala::metrics
