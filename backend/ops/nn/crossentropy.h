#pragma once

#include <nyala/backend/core/op.h>

namespace nyala::ops {

struct SparseCategoricalCrossentropyOptions {
  bool from_logits = false;
  bool ignore = false;  // rows labelled `ignore_class` have loss and gradient 0
  int64_t ignore_class = 0;
};

/// Loss of each row: target (...) or (..., 1) holds class numbers of any arithmetic dtype, output (...,
/// classes) logits or probabilities -> (...). Probabilities are clipped to [1e-7, 1 - 1e-7] and normalised
/// again, as Keras does on TensorFlow. A label outside [0, classes) makes the row's loss NaN, its gradient 0,
/// and reports to the status word (backend/runtime/status_word.h). The gradient flows to `output` alone.
Tensor sparse_categorical_crossentropy(const Tensor& target, const Tensor& output,
                                       const SparseCategoricalCrossentropyOptions& options = {});

struct CrossentropyOptions {
  bool from_logits = false;
  double label_smoothing = 0.0;
};

/// Loss of each row: target and output (..., classes) -> (...). Target becomes target * (1 - s) + s /
/// classes. Probabilities are divided by their sum, then clipped to [1e-7, 1 - 1e-7].
Tensor categorical_crossentropy(const Tensor& target, const Tensor& output,
                                const CrossentropyOptions& options = {});

/// Elementwise, as keras.ops has it (the Keras loss is its mean over the last axis): target and output of one
/// shape. Target becomes target * (1 - s) + s / 2. Probabilities are clipped to [1e-7, 1 - 1e-7].
Tensor binary_crossentropy(const Tensor& target, const Tensor& output,
                           const CrossentropyOptions& options = {});

struct SparseCrossentropyDescriptor {
  int64_t ignore_class = 0;
  bool ignore = false;
  bool from_logits = false;
};
struct CrossentropyDescriptor {
  double label_smoothing = 0.0;
  bool from_logits = false;
};

/// The label of one row, for kernels of sparse categorical crossentropy.
class SparseLabel {
 public:
  SparseLabel(const SparseCrossentropyDescriptor& descriptor, const Tensor& target, int64_t row,
              int64_t classes);
  /// A class that is not to be ignored.
  bool valid() const { return kind_ == Kind::valid; }
  int64_t index() const { return index_; }
  /// The loss of a row whose label is not valid: 0 for one to ignore; NaN for one out of range, which is
  /// reported to the status word.
  float report(const Tensor& word) const;

 private:
  enum class Kind : uint8_t { valid, ignored, out_of_range };
  int64_t row_, classes_, index_ = 0;
  double value_;
  Kind kind_ = Kind::valid;
};

/// Inputs (output, target) -> loss of each row.
extern const OpDef kSparseCategoricalCrossentropy;
/// Inputs (gradient of each row's loss, output, target) -> the gradient of output.
extern const OpDef kSparseCategoricalCrossentropyBackward;
/// Inputs (output, target).
extern const OpDef kCategoricalCrossentropy, kBinaryCrossentropy;
/// Inputs (gradient of the loss, output, target) -> the gradient of output.
extern const OpDef kCategoricalCrossentropyBackward, kBinaryCrossentropyBackward;

}  // namespace nyala::ops
