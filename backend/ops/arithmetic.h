#pragma once

#include <nyala/backend/core/op.h>

namespace nyala::ops {

/// Elementwise with NumPy broadcasting; inputs of two dtypes are promoted. Each has Keras' name and meaning.
Tensor add(const Tensor& a, const Tensor& b);
Tensor subtract(const Tensor& a, const Tensor& b);
Tensor multiply(const Tensor& a, const Tensor& b);
/// True division: integers become float32.
Tensor divide(const Tensor& a, const Tensor& b);

extern const OpDef kAdd, kSubtract, kMultiply, kDivide;

/// y += x on equal shapes; the output is given. Not differentiable.
extern const OpDef kAddInPlace;

/// scale * x + offset in x's dtype. Differentiable.
Tensor affine(const Tensor& x, double scale, double offset = 0.0);
struct AffineDescriptor {
  double scale = 1.0;
  double offset = 0.0;
};
extern const OpDef kAffine;

/// Sums `x` over the axes that broadcasting `shape` to x's shape added or widened.
Tensor sum_to_shape(const Tensor& x, const Shape& shape);

/// Tensors of ones or zeros with the shape, dtype and device of `x`.
Tensor ones_like(const Tensor& x);
Tensor zeros_like(const Tensor& x);
/// Sets the bytes of `x` to zero.
void fill_zero(const Tensor& x);

}  // namespace nyala::ops

namespace nyala {

Tensor operator+(const Tensor& a, const Tensor& b);
Tensor operator-(const Tensor& a, const Tensor& b);
Tensor operator*(const Tensor& a, const Tensor& b);
Tensor operator/(const Tensor& a, const Tensor& b);
Tensor operator+(const Tensor& a, double b);
Tensor operator-(const Tensor& a, double b);
Tensor operator*(const Tensor& a, double b);
Tensor operator/(const Tensor& a, double b);
Tensor operator+(double a, const Tensor& b);
Tensor operator-(double a, const Tensor& b);
Tensor operator*(double a, const Tensor& b);
Tensor operator/(double a, const Tensor& b);
Tensor operator-(const Tensor& a);

}  // namespace nyala
