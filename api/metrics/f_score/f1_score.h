#pragma once

#include <nyala/api/metrics/base/metric.h>

namespace nyala::metrics {

struct F1ScoreConfig {
  std::string average = {};     // "micro", "macro", "weighted"; empty: results() has one value per class
  double threshold = kNoValue;  // none: the largest of the row is predicted
  std::string name = "f1_score";

  void fields(FieldVisitor& v);
};

/// The harmonic mean of precision and recall, of y_true and y_pred (batch, classes), the former 0 or 1.
/// Predicted are scores above the threshold. "micro" counts all classes together, "macro" is the mean over
/// the classes, "weighted" that by the number of their examples.
class F1Score : public Metric {
 public:
  using Config = F1ScoreConfig;
  /// Throws InvalidArgumentError for an unknown average and a threshold outside (0, 1].
  explicit F1Score(const Config& config = {});
  template <size_t N>
  explicit F1Score(const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala::metrics
