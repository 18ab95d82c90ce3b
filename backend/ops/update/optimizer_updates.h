#pragma once

#include <limits>

#include <nyala/backend/core/op.h>

namespace nyala::ops {

/// Optimizer formulas as ops that write in place: update_formulas.h has them. Not functions: optimizers
/// dispatch them with the outputs given.
///
/// Inputs of all: gradient (n), factor float64 (1), scalars float64 (at least kFirstFormulaScalar of them,
/// then the formula's own). Outputs: weight (n), then the formula's slots (n). Weight, gradient and slots
/// have one floating dtype, the numbers are converted to it. Before the formula
///   g = clip(gradient * factor, -clip_value, clip_value),   w -= w * decay * scalars[kDecayScalar].
/// The gradient is not written. Not differentiable.
struct UpdateDescriptor {
  double decay = 0.0;
  double clip_value = std::numeric_limits<double>::infinity();
};

/// Places in `scalars`: the factor that takes accumulation and loss scaling out of a gradient, the learning
/// rate by which weights decay, and the momentum of moving averages.
inline constexpr int kGradientScaleScalar = 0;
inline constexpr int kDecayScalar = 1;
inline constexpr int kAverageScalar = 2;
inline constexpr int kFirstFormulaScalar = 3;

/// The part before the formula alone, for formulas made of other ops: inputs as above, outputs gradient and
/// weight, which are written.
extern const OpDef kPrepareUpdate;

/// Inputs weight (n), scalars; output average (n) = momentum average + (1 - momentum) weight, with
/// scalars[kAverageScalar]. No descriptor.
extern const OpDef kMovingAverage;

namespace detail {

/// The shape rule of ops on these inputs: `outputs` tensors like the gradient.
void infer_update(InferContext& c, size_t outputs);

}  // namespace detail

/// Elements whose squares make one partial sum.
inline constexpr int64_t kNormChunk = 1024;
/// (n) -> the sums of squares of each kNormChunk elements, float64 (ceil(n / kNormChunk)). No descriptor. The
/// order of additions depends on n alone.
extern const OpDef kSquaredSums;

/// How many times smaller gradients become so that a norm is at most `limit`, as in Keras: for one tensor
/// limit / max(norm, limit); `global`: limit * min(1 / norm, 1 / limit) + (norm - norm), NaN for a norm that
/// is not finite. Norms are those of scaled gradients, the results include the scale.
struct ClipFactorsDescriptor {
  double limit = 0.0;
  bool global = false;
};
/// Inputs partial sums of squares float64 (p), offsets int64 (k + 1) into them, scalars; output float64 (k).
extern const OpDef kClipFactors;

}  // namespace nyala::ops
