#pragma once

#include <nyala/api/metrics/base/metric.h>

namespace nyala::metrics {

struct PearsonCorrelationConfig {
  std::string name = "pearson_correlation";
  int64_t axis = -1;

  void fields(FieldVisitor& v);
};

/// The mean over samples, by weight, of the correlation of y_true and y_pred along `axis` (Pearson).
class PearsonCorrelation : public Metric {
 public:
  using Config = PearsonCorrelationConfig;
  explicit PearsonCorrelation(const Config& config = {});
  template <size_t N>
  explicit PearsonCorrelation(const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala::metrics
