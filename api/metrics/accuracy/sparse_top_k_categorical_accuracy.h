#pragma once

#include <nyala/api/metrics/base/metric.h>

namespace nyala::metrics {

struct SparseTopKCategoricalAccuracyConfig {
  int64_t k = 5;
  std::string name = "sparse_top_k_categorical_accuracy";
  bool from_sorted_ids = false;

  void fields(FieldVisitor& v);
};

/// How often less than k scores are larger than that of the class number y_true: ties count as hits. With
/// from_sorted_ids y_pred holds class numbers, the likeliest first, and a hit is y_true among the first k.
class SparseTopKCategoricalAccuracy : public Metric {
 public:
  using Config = SparseTopKCategoricalAccuracyConfig;
  /// Throws InvalidArgumentError for k < 1.
  explicit SparseTopKCategoricalAccuracy(const Config& config = {});
  template <size_t N>
  explicit SparseTopKCategoricalAccuracy(const NoSuchField (&)[N]) = delete;
  explicit SparseTopKCategoricalAccuracy(int64_t k, Config config = {});
  template <size_t N>
  explicit SparseTopKCategoricalAccuracy(int64_t, const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala::metrics
