#pragma once

#include <nyala/api/metrics/base/metric.h>

namespace nyala::metrics {

struct SquaredHingeConfig {
  std::string name = "squared_hinge";

  void fields(FieldVisitor& v);
};

/// The mean of the loss nyala::SquaredHinge over samples, by weight.
class SquaredHinge : public Metric {
 public:
  using Config = SquaredHingeConfig;
  explicit SquaredHinge(const Config& config = {});
  template <size_t N>
  explicit SquaredHinge(const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala::metrics
