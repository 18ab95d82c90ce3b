#pragma once

#include <nyala/api/losses/loss.h>

namespace nyala {

struct CategoricalFocalCrossentropyConfig {
  double alpha = 0.25;
  double gamma = 2.0;
  bool from_logits = false;
  double label_smoothing = 0.0;
  int64_t axis = -1;
  std::string reduction = "sum_over_batch_size";
  std::string name = "categorical_focal_crossentropy";

  void fields(FieldVisitor& v);
};

/// Categorical crossentropy in which easy examples count less (Lin et al., 2018): the sum over `axis` of
/// -alpha (1 - p)^gamma y log p. y_pred holds probabilities, divided by their sum and clipped, or logits.
/// label_smoothing as in CategoricalCrossentropy.
class CategoricalFocalCrossentropy : public Loss {
 public:
  using Config = CategoricalFocalCrossentropyConfig;
  /// Throws InvalidArgumentError for an unknown reduction.
  explicit CategoricalFocalCrossentropy(const Config& config = {});
  template <size_t N>
  explicit CategoricalFocalCrossentropy(const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala
