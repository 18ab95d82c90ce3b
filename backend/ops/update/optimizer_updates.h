#pragma once

#include <limits>

#include <nyala/backend/core/op.h>

namespace nyala::ops {

/// Optimizer formulas as ops that write in place. Not functions: optimizers dispatch them with the outputs
/// given.
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

/// w -= lr g. Scalars: lr.
extern const OpDef kSgdUpdate;
/// m = momentum m - lr g; w += m, or with Nesterov's w += momentum m - lr g. Scalars: lr, momentum. Slot m.
extern const OpDef kSgdMomentumUpdate, kSgdNesterovUpdate;
/// m += (g - m) (1 - beta_1); v += (g^2 - v) (1 - beta_2); w -= alpha m / (sqrt(v) + epsilon), where amsgrad
/// takes the largest v so far. Scalars: alpha, 1 - beta_1, 1 - beta_2, epsilon. Slots m, v (, largest v).
extern const OpDef kAdamUpdate, kAdamAmsgradUpdate;
/// v = rho v + (1 - rho) g^2; step = lr g / sqrt(v + epsilon), centered lr g / sqrt(v - a^2 + epsilon) with
/// a = rho a + (1 - rho) g; with momentum b = momentum b + step; w -= b, else w -= step.
/// Scalars: lr, rho, 1 - rho, epsilon, momentum. Slots v (, b) (, a).
extern const OpDef kRmspropUpdate, kRmspropMomentumUpdate, kRmspropCenteredUpdate,
    kRmspropMomentumCenteredUpdate;

/// a += g^2; w -= lr g / sqrt(a + epsilon). Scalars: lr, epsilon. Slot a.
extern const OpDef kAdagradUpdate;
/// a = rho a + (1 - rho) g^2; step = g sqrt(d + epsilon) / sqrt(a + epsilon); d = rho d + (1 - rho) step^2;
/// w -= lr step. Scalars: lr, rho, 1 - rho, epsilon. Slots a, d.
extern const OpDef kAdadeltaUpdate;
/// m += (g - m) (1 - beta_1); u = max(beta_2 u, |g|); w -= lr m / (correction (u + epsilon)).
/// Scalars: lr, 1 - beta_1, beta_2, correction, epsilon. Slots m, u.
extern const OpDef kAdamaxUpdate;
/// m += (g - m) (1 - beta_1); v += (g^2 - v) (1 - beta_2);
/// w -= lr (next m / rest_next + (1 - now) g / rest) / (sqrt(v / correction) + epsilon).
/// Scalars: lr, 1 - beta_1, 1 - beta_2, next, rest_next, 1 - now, rest, correction, epsilon. Slots m, v.
extern const OpDef kNadamUpdate;
/// n' = n + g^2; z += g + 2 shrinkage w - (n'^p - n^p) / lr w; w = (clip(z, -l1, l1) - z) / (n'^p / lr + 2
/// l2); n = n'. Scalars: lr, p, l1, l2, shrinkage. Slots n, z.
extern const OpDef kFtrlUpdate;
/// w -= lr sign(beta_1 m + (1 - beta_1) g); m = beta_2 m + (1 - beta_2) g.
/// Scalars: lr, beta_1, 1 - beta_1, beta_2, 1 - beta_2. Slot m.
extern const OpDef kLionUpdate;
/// v += (g^2 - v) (1 - beta_2); x = (w - (1 - beta_1) z) / beta_1; z -= lr g / (sqrt(v / correction) +
/// epsilon); x += (z - x) share; w = (1 - beta_1) z + beta_1 x. Scalars: lr, beta_1, 1 - beta_2, correction,
/// epsilon, share. Slots z, v.
extern const OpDef kScheduleFreeAdamwUpdate;

/// The part before the formula alone, for formulas made of other ops: inputs as above, outputs gradient and
/// weight, which are written.
extern const OpDef kPrepareUpdate;

/// Inputs weight (n), scalars; output average (n) = momentum average + (1 - momentum) weight, with
/// scalars[kAverageScalar]. No descriptor.
extern const OpDef kMovingAverage;

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
