#pragma once

#include <nyala/api/losses/loss.h>

namespace nyala {

struct CosineSimilarityConfig {
  int64_t axis = -1;
  std::string reduction = "sum_over_batch_size";
  std::string name = "cosine_similarity";

  void fields(FieldVisitor& v);
};

/// -sum(a b) over `axis`, a and b being y_true and y_pred divided by their norm (at least 1e-7): -1 for the
/// same direction.
class CosineSimilarity : public Loss {
 public:
  using Config = CosineSimilarityConfig;
  /// Throws InvalidArgumentError for an unknown reduction.
  explicit CosineSimilarity(const Config& config = {});
  template <size_t N>
  explicit CosineSimilarity(const NoSuchField (&)[N]) = delete;
};

namespace detail {

/// sum(a b) over `axis`, a and b being y_true and y_pred divided by their norm (at least 1e-7).
Tensor cosine_similarity(const Tensor& y_true, const Tensor& y_pred, int axis);

}  // namespace detail

}  // namespace nyala
