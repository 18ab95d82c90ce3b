#pragma once

#include <nyala/api/losses/loss.h>

namespace nyala {

struct BinaryFocalCrossentropyConfig {
  bool apply_class_balancing = false;
  double alpha = 0.25;
  double gamma = 2.0;
  bool from_logits = false;
  double label_smoothing = 0.0;
  int64_t axis = -1;
  std::string reduction = "sum_over_batch_size";
  std::string name = "binary_focal_crossentropy";

  void fields(FieldVisitor& v);
};

/// Binary crossentropy in which easy examples count less (Lin et al., 2018): the mean over `axis` of
/// (1 - p)^gamma times it, p being the probability given to the true class; apply_class_balancing multiplies
/// with alpha for class 1 and 1 - alpha for class 0. label_smoothing as in BinaryCrossentropy.
class BinaryFocalCrossentropy : public Loss {
 public:
  using Config = BinaryFocalCrossentropyConfig;
  /// Throws InvalidArgumentError for an unknown reduction.
  explicit BinaryFocalCrossentropy(const Config& config = {});
  template <size_t N>
  explicit BinaryFocalCrossentropy(const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala
