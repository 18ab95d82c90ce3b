#pragma once

#include <cstdint>

#include <nyala/backend/core/op.h>

namespace nyala::ops {

/// Which random numbers a dropout draws: they depend on these, on the step number and on each element's place
/// in the *global* batch alone, never on how a batch is split or who computes it.
struct DropoutDescriptor {
  double rate = 0.0;        // chance of an element to become 0, in [0, 1]
  uint64_t key = 0;         // of seed and layer
  int64_t first_row = 0;    // place of x's first row (axis 0) in the global batch
  uint32_t call = 0;        // which call of the layer in this step
  uint32_t noise_axes = 0;  // bit i set: the elements along axis i share one draw (Keras' noise_shape of 1)
};

/// x / (1 - rate) with each element 0 at chance `rate`; at rate 1 all are. `step` is a tensor of one int32,
/// int64 or float64 element on x's device, read by the kernel, so that a recorded step can be replayed; it
/// must not change before the gradient, which draws the same numbers again, has run. Throws
/// InvalidArgumentError for a rate outside [0, 1] or a negative row.
Tensor dropout(const Tensor& x, const Tensor& step, const DropoutDescriptor& descriptor);

namespace detail {

/// DropoutDescriptor::noise_axes of a Keras noise_shape: each size 1 (shared), None or that of x.
/// Throws ShapeError for another.
uint32_t dropout_noise_axes(const Shape& x, const Shape& noise_shape);

}  // namespace detail

/// Inputs (x, step).
extern const OpDef kDropout;

namespace detail {

/// The training step that a kernel reads from its input: one int32, int64 or float64 element.
uint64_t step_value(const Tensor& step);

}  // namespace detail

/// A call worked out for its kernels. Draws are numbered row by row through the noise of the global batch.
/// Draw e is word (e % 64) / 16 of Philox block (e / 64) * 16 + e % 16 (so 16 blocks side by side give 64
/// draws in order), under counter (block, step) and `key`. An element is dropped where its word is below
/// `threshold`.
struct DropoutPlan {
  static constexpr int64_t kGroup = 64, kLanes = 16;
  uint64_t key = 0, step = 0;
  uint64_t threshold = 0;  // 2^32 drops all
  double scale = 1.0;
  int64_t first_draw = 0;
  Shape noise;  // x's shape with 1 along the shared axes
  uint32_t word(int64_t draw) const;
};

namespace detail {

DropoutPlan dropout_plan(const KernelCall& call);

}  // namespace detail

}  // namespace nyala::ops
