#pragma once

#include <nyala/api/metrics/base/metric.h>

namespace nyala::metrics {

struct HingeConfig {
  std::string name = "hinge";

  void fields(FieldVisitor& v);
};

/// The mean of the loss nyala::Hinge over samples, by weight.
class Hinge : public Metric {
 public:
  using Config = HingeConfig;
  explicit Hinge(const Config& config = {});
  template <size_t N>
  explicit Hinge(const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala::metrics
