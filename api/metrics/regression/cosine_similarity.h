#pragma once

#include <nyala/api/metrics/base/metric.h>

namespace nyala::metrics {

struct CosineSimilarityConfig {
  std::string name = "cosine_similarity";
  int64_t axis = -1;

  void fields(FieldVisitor& v);
};

/// The mean over samples, by weight, of sum(a b) over `axis`, a and b being y_true and y_pred divided by
/// their norm: 1 for the same direction.
class CosineSimilarity : public Metric {
 public:
  using Config = CosineSimilarityConfig;
  explicit CosineSimilarity(const Config& config = {});
  template <size_t N>
  explicit CosineSimilarity(const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala::metrics
