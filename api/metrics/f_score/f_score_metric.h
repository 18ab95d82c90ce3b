#pragma once

#include <nyala/api/metrics/base/metric.h>

namespace nyala::metrics {

struct FScoreOptions {
  const char* class_name;
  std::string name;
  std::string average;  // empty: one value per class
  double beta = 1.0;
  double threshold = kNoValue;  // none: the largest of the row is predicted
  std::function<void(FieldVisitor&)> fields;
};

namespace detail {

/// (1 + beta^2) precision recall / (beta^2 precision + recall) of each class, with 1e-7 added to
/// denominators; what FBetaScore and F1Score are made of. Throws InvalidArgumentError for an unknown average,
/// beta <= 0 and a threshold outside (0, 1].
Metric make_f_score(FScoreOptions options);

}  // namespace detail

}  // namespace nyala::metrics
