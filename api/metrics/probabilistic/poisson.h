#pragma once

#include <nyala/api/metrics/base/metric.h>

namespace nyala::metrics {

struct PoissonConfig {
  std::string name = "poisson";

  void fields(FieldVisitor& v);
};

/// The mean of the loss nyala::Poisson over samples, by weight.
class Poisson : public Metric {
 public:
  using Config = PoissonConfig;
  explicit Poisson(const Config& config = {});
  template <size_t N>
  explicit Poisson(const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala::metrics
