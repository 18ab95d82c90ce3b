#pragma once

#include <nyala/api/losses/loss.h>

namespace nyala {

struct BinaryCrossentropyConfig {
  bool from_logits = false;
  double label_smoothing = 0.0;
  int64_t axis = -1;
  std::string reduction = "sum_over_batch_size";
  std::string name = "binary_crossentropy";

  void fields(FieldVisitor& v);
};

/// The mean over `axis` of -y log p - (1 - y) log(1 - p), where y = y_true (1 - label_smoothing) +
/// label_smoothing / 2. y_pred holds probabilities, clipped to [1e-7, 1 - 1e-7], or logits.
class BinaryCrossentropy : public Loss {
 public:
  using Config = BinaryCrossentropyConfig;
  /// Throws InvalidArgumentError for an unknown reduction.
  explicit BinaryCrossentropy(const Config& config = {});
  template <size_t N>
  explicit BinaryCrossentropy(const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala
