#pragma once

#include <nyala/api/metrics/base/metric.h>

namespace nyala::metrics {

struct SumConfig {
  std::string name = "sum";

  void fields(FieldVisitor& v);
};

/// The sum of the values given to update_state, each by its weight.
class Sum : public Metric {
 public:
  using Config = SumConfig;
  explicit Sum(const Config& config = {});
  template <size_t N>
  explicit Sum(const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala::metrics
