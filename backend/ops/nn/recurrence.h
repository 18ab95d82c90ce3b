#pragma once

#include <nyala/backend/core/op.h>

/// What the ops for whole sequences, lstm and gru, share.
namespace nyala::ops {

/// Activations inside recurrent ops: those whose slope follows from their output. hard_sigmoid is Keras 3's.
enum class RecurrentActivation : uint8_t { linear, relu, sigmoid, tanh, hard_sigmoid };

namespace detail {

/// f(z) and f'(z) at f(z) = y, of one number, for reference loops.
template <class T>
T recurrent_activate(T z, RecurrentActivation f);
template <class T>
T recurrent_slope(T y, RecurrentActivation f);

}  // namespace detail

/// How a sequence is walked through; part of the descriptors.
struct RecurrentOptions {
  RecurrentActivation activation = RecurrentActivation::tanh;
  RecurrentActivation recurrent_activation = RecurrentActivation::sigmoid;
  bool return_sequences = false;
  bool go_backwards = false;          // from the last step to the first; outputs are in order of processing
  bool zero_output_for_mask = false;  // outputs of masked steps are 0 instead of those of the step before
};

/// The sizes of a call, and which time step is the s-th to be processed.
struct RecurrentSizes {
  int64_t batch = 0, time = 0, units = 0;
  bool backwards = false;
  int64_t time_of(int64_t s) const { return backwards ? time - 1 - s : s; }
};

/// How the steps of one row are masked.
class RowMask {
 public:
  /// `mask` points to the row's (time) flags, null: every step counts.
  RowMask(const bool* mask, const RecurrentSizes& sizes, bool zero_output);
  bool counts(int64_t s) const { return !mask_ || mask_[sizes_.time_of(s)]; }
  /// Whether the output of step `s` is the state h after it; 0 otherwise.
  bool shows(int64_t s) const { return zero_output_ ? counts(s) : s >= first_; }

 private:
  const bool* mask_;
  RecurrentSizes sizes_;
  bool zero_output_;
  int64_t first_ = 0;  // step that counts
};

namespace detail {

/// For shape rules: throws unless the mask at input `i` is bool (batch, time) of `sequence`.
void check_mask(InferContext& c, size_t i, const Shape& sequence);
/// Throws unless inputs [0, count) are of one floating dtype.
void check_one_floating_dtype(InferContext& c, size_t count);

}  // namespace detail

}  // namespace nyala::ops
