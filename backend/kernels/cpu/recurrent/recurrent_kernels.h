#pragma once

#include <nyala/backend/kernels/cpu/recurrent/recurrent_loops.h>
#include <nyala/backend/ops/nn/recurrence.h>

/// What the kernels of lstm and gru share. Rows never meet, so each piece of rows runs through all steps by
/// itself: no barrier per step.
namespace nyala {

using RecurrentLoopsOf = const RecurrentLoops& (*)();

inline constexpr int64_t kRowsOfPiece = 16;

RecurrentLoops::Activation activation_of(ops::RecurrentActivation f);

/// The first place of a workspace that is aligned to 64 bytes, and the bytes of one for so many floats.
float* aligned_floats(const Tensor& workspace);
size_t workspace_for(int64_t floats);

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
  /// Whether the result holds the output of step `s`.
  bool is_output(int64_t s) const { return p_.options->return_sequences || s + 1 == p_.sizes.time; }
  /// A state to the step's place in a sequence of states.
  void spread(const float* state, float* sequence, int64_t s) const;
  /// The state h after step `s` as the output.
  void show(const float* h, float* output, int64_t s) const;
  /// Adds the gradient of the output of step `s`.
  void add_output(const float* gradient, float* dh, int64_t s) const;
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
