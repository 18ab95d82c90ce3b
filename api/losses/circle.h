#pragma once

#include <nyala/api/losses/loss.h>

namespace nyala {

struct CircleConfig {
  double gamma = 80.0;
  double margin = 0.4;
  bool remove_diagonal = true;
  std::string reduction = "sum_over_batch_size";
  std::string name = "circle";

  void fields(FieldVisitor& v);
};

/// Circle loss of embeddings (Sun et al., 2020): y_pred (n, d) holds them with norm 1, y_true (n,) or (n, 1)
/// their class numbers. With cosine distances between the rows of the batch, softplus(logsumexp of the
/// weighted distances to rows of the same class + that to the others). Rows with the value 0 (no row of the
/// same class, or none of another) do not count in means. remove_diagonal: a row is not compared with itself.
/// Under several replicas outputs are gathered to compute it.
class Circle : public Loss {
 public:
  using Config = CircleConfig;
  /// Throws InvalidArgumentError for an unknown reduction.
  explicit Circle(const Config& config = {});
  template <size_t N>
  explicit Circle(const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala
