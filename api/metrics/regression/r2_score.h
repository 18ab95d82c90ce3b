#pragma once

#include <nyala/api/metrics/base/metric.h>

namespace nyala::metrics {

struct R2ScoreConfig {
  std::string class_aggregation =
      "uniform_average";  // "variance_weighted_average"; empty: one value per column
  int64_t num_regressors = 0;
  std::string name = "r2_score";

  void fields(FieldVisitor& v);
};

/// 1 - sum((y_true - y_pred)^2) / sum((y_true - mean(y_true))^2), the coefficient of determination, of each
/// column of y_true and y_pred (batch, columns), then averaged. With num_regressors p it is adjusted: 1 - (1
/// - r2) (n - 1) / (n - p - 1), where n counts all elements, as in Keras; not where p >= n - 1.
class R2Score : public Metric {
 public:
  using Config = R2ScoreConfig;
  /// Throws InvalidArgumentError for an unknown class_aggregation and num_regressors < 0.
  explicit R2Score(const Config& config = {});
  template <size_t N>
  explicit R2Score(const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala::metrics
