#pragma once

#include <nyala/api/losses/loss.h>

namespace nyala {

struct CategoricalGeneralizedCrossEntropyConfig {
  double q = 0.5;
  std::string reduction = "sum_over_batch_size";
  std::string name = "categorical_generalized_cross_entropy";

  void fields(FieldVisitor& v);
};

/// (1 - p^q) / q, p being the probability given to the class number y_true (Zhang and Sabuncu, 2018): between
/// mean absolute error (q near 1) and crossentropy (near 0), for noisy labels.
class CategoricalGeneralizedCrossEntropy : public Loss {
 public:
  using Config = CategoricalGeneralizedCrossEntropyConfig;
  /// Throws InvalidArgumentError for q outside (0, 1) and an unknown reduction.
  explicit CategoricalGeneralizedCrossEntropy(const Config& config = {});
  template <size_t N>
  explicit CategoricalGeneralizedCrossEntropy(const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala
