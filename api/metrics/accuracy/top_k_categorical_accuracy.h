#pragma once

#include <nyala/api/metrics/base/metric.h>

namespace nyala::metrics {

struct TopKCategoricalAccuracyConfig {
  int64_t k = 5;
  std::string name = "top_k_categorical_accuracy";

  void fields(FieldVisitor& v);
};

/// How often less than k scores are larger than that of the class where y_true is largest: ties count as
/// hits.
class TopKCategoricalAccuracy : public Metric {
 public:
  using Config = TopKCategoricalAccuracyConfig;
  /// Throws InvalidArgumentError for k < 1.
  explicit TopKCategoricalAccuracy(const Config& config = {});
  template <size_t N>
  explicit TopKCategoricalAccuracy(const NoSuchField (&)[N]) = delete;
  explicit TopKCategoricalAccuracy(int64_t k, Config config = {});
  template <size_t N>
  explicit TopKCategoricalAccuracy(int64_t, const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala::metrics
