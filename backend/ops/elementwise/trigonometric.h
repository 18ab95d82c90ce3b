#pragma once

#include <nyala/backend/core/op.h>

namespace nyala::ops {

/// Elementwise, in radians; integers and bool become float32. (tanh stands with the activations.)
Tensor sin(const Tensor& x);
Tensor cos(const Tensor& x);
Tensor tan(const Tensor& x);
Tensor arcsin(const Tensor& x);
Tensor arccos(const Tensor& x);
Tensor arctan(const Tensor& x);
Tensor sinh(const Tensor& x);
Tensor cosh(const Tensor& x);
Tensor arcsinh(const Tensor& x);
Tensor arccosh(const Tensor& x);
Tensor arctanh(const Tensor& x);

extern const OpDef kSin, kCos, kTan, kArcsin, kArccos, kArctan, kSinh, kCosh, kArcsinh, kArccosh, kArctanh;
/// (x or y, gradient) -> gradient of x.
extern const OpDef kSinGradient, kCosGradient, kTanGradient, kArcsinGradient, kArccosGradient,
    kArctanGradient, kSinhGradient, kCoshGradient, kArcsinhGradient, kArccoshGradient, kArctanhGradient;

}  // namespace nyala::ops
