#pragma once

#include <nyala/backend/core/op.h>

namespace nyala::ops {

/// Elementwise on any dtype, which stays (abs, sign, square and clip keep integers; bool becomes int32).
Tensor absolute(const Tensor& x);
Tensor abs(const Tensor& x);
/// -1, 0 or 1; NaN stays. Not differentiable (its slope is 0).
Tensor sign(const Tensor& x);
Tensor square(const Tensor& x);
Tensor negative(const Tensor& x);
/// x with values below `minimum` and above `maximum` set to these; NaN stays. The gradient passes where
/// minimum <= x <= maximum. Bounds that are no whole numbers make integers float32.
Tensor clip(const Tensor& x, double minimum, double maximum);

/// Integers become float32. Not differentiable (their slope is 0).
Tensor floor(const Tensor& x);
Tensor ceil(const Tensor& x);
Tensor trunc(const Tensor& x);
/// To the nearest whole number, halves to the even one; integers stay as they are.
Tensor round(const Tensor& x);

/// Tests of floating values, bool results; integers are always finite.
Tensor isnan(const Tensor& x);
Tensor isinf(const Tensor& x);
Tensor isfinite(const Tensor& x);

struct ClipDescriptor {
  double minimum = 0;
  double maximum = 0;
};
extern const OpDef kAbsolute, kSign, kSquare, kClip, kFloor, kCeil, kTrunc, kRound, kIsnan, kIsinf, kIsfinite;
/// (x, gradient) -> gradient of x.
extern const OpDef kAbsoluteGradient, kSquareGradient, kClipGradient;

}  // namespace nyala::ops
