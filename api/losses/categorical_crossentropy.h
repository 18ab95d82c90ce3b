#pragma once

#include <nyala/api/losses/loss.h>

namespace nyala {

struct CategoricalCrossentropyConfig {
  bool from_logits = false;
  double label_smoothing = 0.0;
  int64_t axis = -1;
  std::string reduction = "sum_over_batch_size";
  std::string name = "categorical_crossentropy";

  void fields(FieldVisitor& v);
};

/// -sum(y log p) over `axis`, where y = y_true (1 - label_smoothing) + label_smoothing / classes and y_true
/// has y_pred's shape. y_pred holds probabilities, divided by their sum and clipped to [1e-7, 1 - 1e-7], or
/// logits.
class CategoricalCrossentropy : public Loss {
 public:
  using Config = CategoricalCrossentropyConfig;
  /// Throws InvalidArgumentError for an unknown reduction.
  explicit CategoricalCrossentropy(const Config& config = {});
  template <size_t N>
  explicit CategoricalCrossentropy(const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala
