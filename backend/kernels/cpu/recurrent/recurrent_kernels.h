#pragma once

#include <nyala/backend/kernels/cpu/base/wide_runs.h>
#include <nyala/backend/kernels/cpu/recurrent/recurrent_loops.h>
#include <nyala/backend/ops/nn/recurrence.h>

/// What the kernels of lstm and gru share. Rows never meet, so each piece of rows runs through all steps by
/// itself: no barrier per step. 16-bit tensors are widened step by step; states stay float32 from the first
/// step to the last.
namespace nyala {

using RecurrentLoopsOf = const RecurrentLoops& (*)();

inline constexpr int64_t kRowsOfPiece = 16;

RecurrentLoops::Activation activation_of(ops::RecurrentActivation f);

/// Why the kernels do not take a call, null where they do.
const char* unsupported_reason_of_recurrent(const KernelCall& call);

/// The first place of a workspace that is aligned to 64 bytes, and the bytes of one for so many floats.
float* aligned_floats(const Tensor& workspace);
size_t workspace_for(int64_t floats);

/// Where row `first` of `size` floats begins in a buffer for all rows, if there is one.
inline float* row_of(float* buffer, int64_t first, int64_t size) {
  return buffer ? buffer + first * size : nullptr;
}

/// The recurrent kernel (units, gates * units) as the loops read it.
void pack_forward(const RecurrentLoops& loops, const Tensor& kernel, float* packed);
void pack_backward(const RecurrentLoops& loops, const Tensor& kernel, float* packed);

/// Rows of a call between its sequences (batch, time, ...) and their states (rows, units).
class SequenceRows {
 public:
  struct Place {
    int64_t first, rows;
    ops::RecurrentSizes sizes;
    const ops::RecurrentOptions* options;
    const Tensor* mask;  // null: every step counts
  };
  explicit SequenceRows(const Place& place) : p_(place) {}

  /// Index (row * time + time) of the first row at the s-th step to be processed.
  int64_t at(int64_t s) const { return p_.first * p_.sizes.time + p_.sizes.time_of(s); }
  const bool* counts(int64_t s) const { return p_.mask ? p_.mask->raw_as<bool>() + at(s) : nullptr; }
  /// The rows at step `s` of a sequence (batch, time, size).
  RowsAt step(int64_t s, int64_t size) const { return {at(s) * size, p_.rows, size, p_.sizes.time * size}; }
  /// Whether the result holds the output of step `s`.
  bool is_output(int64_t s) const { return p_.options->return_sequences || s + 1 == p_.sizes.time; }
  /// A state to the step's place in a sequence of states.
  void spread(const float* state, const Tensor& sequence, int64_t s) const;
  /// The state h after step `s` as the output.
  void show(const float* h, const Tensor& output, int64_t s) const;
  /// Adds the gradient of the output of step `s`.
  void add_output(const Tensor& gradient, float* dh, int64_t s) const;
  /// A gradient that is given for all rows, else zeros.
  void begin(const Tensor* given, float* gradient) const;

 private:
  int64_t output_place(int64_t row, int64_t s) const {
    const int64_t all = p_.first + row;
    return (p_.options->return_sequences ? all * p_.sizes.time + s : all) * p_.sizes.units;
  }
  bool shows(int64_t row, int64_t s) const;
  Place p_;
};

}  // namespace nyala
