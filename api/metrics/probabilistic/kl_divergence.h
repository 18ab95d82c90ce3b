#pragma once

#include <nyala/api/metrics/base/metric.h>

namespace nyala::metrics {

struct KLDivergenceConfig {
  std::string name = "kl_divergence";

  void fields(FieldVisitor& v);
};

/// The mean of the loss nyala::KLDivergence over samples, by weight.
class KLDivergence : public Metric {
 public:
  using Config = KLDivergenceConfig;
  explicit KLDivergence(const Config& config = {});
  template <size_t N>
  explicit KLDivergence(const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala::metrics
