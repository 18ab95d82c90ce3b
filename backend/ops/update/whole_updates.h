#pragma once

#include <nyala/backend/ops/update/optimizer_updates.h>

namespace nyala::ops {

/// Optimizer formulas that look at a whole variable, in place as those of optimizer_updates.h: inputs
/// gradient (n), factor, scalars; outputs weight (n), then slots (n). Where nothing else is said gradients
/// are clipped and weights decay first. Sums over the variable are float64 sums of pieces that follow from
/// its shape alone. Not differentiable.

/// Lamb: m += (g - m) (1 - beta_1), v += (g^2 - v) (1 - beta_2),
/// s = m / (1 - beta_1^t) / (sqrt(v / (1 - beta_2^t)) + epsilon), w -= |w| / |s| lr s, the quotient of norms
/// being 1 unless both are above 0. Scalars: lr, 1 - beta_1, 1 - beta_2, 1 - beta_1^t, 1 - beta_2^t,
/// epsilon. Descriptor: UpdateDescriptor.
extern const OpDef kLambUpdate;

/// Adafactor on `matrices` matrices of rows x columns, which are the n elements; `rows` 0: on n elements
/// without factors.
struct AdafactorDescriptor {
  UpdateDescriptor preparation;  // first, where every update looks for it
  int64_t matrices = 1;
  int64_t rows = 0;
  int64_t columns = 0;
  double epsilon_1 = 0.0;
  double epsilon_2 = 0.0;
  double clip_threshold = 1.0;
};
/// Slots r, c, v, of which r has its numbers in the first matrices * rows elements and c in the first
/// matrices * columns. With q = g^2 + epsilon_1: r = b r + (1 - b) mean(q, columns), c = b c +
/// (1 - b) mean(q, rows), v = r / mean(r) outer c, without factors v = b v + (1 - b) q; u = g / sqrt(v),
/// w -= max(epsilon_2, rms(w)) lr u / max(1, rms(u) / clip_threshold). Scalars: lr, b, 1 - b.
extern const OpDef kAdafactorUpdate;

struct MuonMomentumDescriptor {
  UpdateDescriptor preparation;  // first, where every update looks for it
  double momentum = 0.0;
  bool nesterov = false;
};
/// Outputs weight, which decays, m (n) and s (n): m = momentum m + g, s = g + momentum m (without nesterov
/// m), divided by |s| + 1e-7.
extern const OpDef kMuonMomentum;

struct MuonPolynomialDescriptor {
  double constant = 0.0;
  double linear = 0.0;
  double quadratic = 0.0;
};
/// Input a (k, k); output p (k, k), given as a a, becomes constant I + linear a + quadratic a a.
extern const OpDef kMuonPolynomial;

struct MuonStepDescriptor {
  double scale = 1.0;
  int rate = 0;  // which of the formula's scalars
};
/// Inputs s (n), scalars; output w (n) -= lr scale s.
extern const OpDef kMuonStep;

}  // namespace nyala::ops
