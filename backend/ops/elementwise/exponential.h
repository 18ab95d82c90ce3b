#pragma once

#include <nyala/backend/core/op.h>

namespace nyala::ops {

/// Elementwise, with Keras' names and meanings; integers and bool become float32. Outside their domain the
/// results are NaN or infinite, as IEEE has it.
Tensor exp(const Tensor& x);
/// exp(x) - 1 without cancellation near 0.
Tensor expm1(const Tensor& x);
Tensor log(const Tensor& x);
/// log(1 + x) without cancellation near 0.
Tensor log1p(const Tensor& x);
Tensor log2(const Tensor& x);
Tensor log10(const Tensor& x);
Tensor sqrt(const Tensor& x);
/// 1 / sqrt(x).
Tensor rsqrt(const Tensor& x);
/// 1 / x.
Tensor reciprocal(const Tensor& x);
/// The error function, 2 / sqrt(pi) times the integral of exp(-t^2) from 0 to x.
Tensor erf(const Tensor& x);

extern const OpDef kExp, kExpm1, kLog, kLog1p, kLog2, kLog10, kSqrt, kRsqrt, kReciprocal, kErf;
/// (x or y, gradient) -> gradient of x; which of the two is said by keep_inputs and keep_outputs of the op.
extern const OpDef kExpGradient, kExpm1Gradient, kLogGradient, kLog1pGradient, kLog2Gradient, kLog10Gradient,
    kSqrtGradient, kRsqrtGradient, kReciprocalGradient, kErfGradient;

}  // namespace nyala::ops
