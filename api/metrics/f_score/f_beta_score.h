#pragma once

#include <nyala/api/metrics/base/metric.h>

namespace nyala::metrics {

struct FBetaScoreConfig {
  std::string average = {};  // "micro", "macro", "weighted"; empty: results() has one value per class
  double beta = 1.0;
  double threshold = kNoValue;  // none: the largest of the row is predicted
  std::string name = "fbeta_score";

  void fields(FieldVisitor& v);
};

/// (1 + beta^2) precision recall / (beta^2 precision + recall), of y_true and y_pred (batch, classes), the
/// former 0 or 1. Predicted are scores above the threshold. "micro" counts all classes together, "macro" is
/// the mean over the classes, "weighted" that by the number of their examples.
class FBetaScore : public Metric {
 public:
  using Config = FBetaScoreConfig;
  /// Throws InvalidArgumentError for an unknown average, beta <= 0 and a threshold outside (0, 1].
  explicit FBetaScore(const Config& config = {});
  template <size_t N>
  explicit FBetaScore(const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala::metrics
