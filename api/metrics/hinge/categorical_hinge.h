#pragma once

#include <nyala/api/metrics/base/metric.h>

namespace nyala::metrics {

struct CategoricalHingeConfig {
  std::string name = "categorical_hinge";

  void fields(FieldVisitor& v);
};

/// The mean of the loss nyala::CategoricalHinge over samples, by weight.
class CategoricalHinge : public Metric {
 public:
  using Config = CategoricalHingeConfig;
  explicit CategoricalHinge(const Config& config = {});
  template <size_t N>
  explicit CategoricalHinge(const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala::metrics
