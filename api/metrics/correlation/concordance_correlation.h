#pragma once

#include <nyala/api/metrics/base/metric.h>

namespace nyala::metrics {

struct ConcordanceCorrelationConfig {
  std::string name = "concordance_correlation";
  int64_t axis = -1;

  void fields(FieldVisitor& v);
};

/// The mean over samples, by weight, of 2 mean((t - m) (p - m)) / (var(t) + var(p) + (mean(t) - m)^2 + 1e-7)
/// along `axis`, t being y_true, p y_pred and m the mean of p: agreement in value as well as in direction
/// (Lin, 1989).
class ConcordanceCorrelation : public Metric {
 public:
  using Config = ConcordanceCorrelationConfig;
  explicit ConcordanceCorrelation(const Config& config = {});
  template <size_t N>
  explicit ConcordanceCorrelation(const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala::metrics
