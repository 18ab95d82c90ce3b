#pragma once

#include <limits>

#include <nyala/api/losses/loss.h>

namespace nyala {

/// Keras' None for a class number.
inline constexpr int64_t kNoClass = std::numeric_limits<int64_t>::min();

struct SparseCategoricalCrossentropyConfig {
  bool from_logits = false;
  int64_t ignore_class = kNoClass;
  std::string reduction = "sum_over_batch_size";
  int64_t axis = -1;
  std::string name = "sparse_categorical_crossentropy";

  void fields(FieldVisitor& v);
};

/// -log p[y_true] over `axis` of y_pred; y_true holds class numbers and lacks that axis or has it with
/// size 1. Rows labelled `ignore_class` do not count. y_pred holds probabilities, clipped to [1e-7, 1 - 1e-7]
/// and normalised again, or logits. A label out of range makes a NaN and is reported when logs are read.
class SparseCategoricalCrossentropy : public Loss {
 public:
  using Config = SparseCategoricalCrossentropyConfig;
  /// Throws InvalidArgumentError for an unknown reduction.
  explicit SparseCategoricalCrossentropy(const Config& config = {});
  template <size_t N>
  explicit SparseCategoricalCrossentropy(const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala
