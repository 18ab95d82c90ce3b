#pragma once

#include <optional>

#include <nyala/backend/core/op.h>

namespace nyala::ops {

/// Elementwise with NumPy broadcasting; inputs of two dtypes are promoted, numbers take the dtype of the
/// tensor beside them (Operand). Truth values and bytes with a whole number give int32, so that nothing wraps
/// around. Each has Keras' name and meaning.
Tensor add(const Operand& a, const Operand& b);
Tensor subtract(const Operand& a, const Operand& b);
Tensor multiply(const Operand& a, const Operand& b);
/// True division: integers become float32.
Tensor divide(const Operand& a, const Operand& b);

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

/// Tensors of one value with the shape and device of `x`, by default of its dtype. Of a symbolic x an op of
/// the graph, whose result has the shape of each batch. Not differentiable.
Tensor ones_like(const Tensor& x, std::optional<DType> dtype = {});
Tensor zeros_like(const Tensor& x, std::optional<DType> dtype = {});
Tensor full_like(const Tensor& x, Number value, std::optional<DType> dtype = {});
struct FullLikeDescriptor {
  Number value = 0;
  DType dtype = DType::float32;
};
extern const OpDef kFullLike;

namespace detail {

/// Sets the bytes of `x` to zero.
void fill_zero(const Tensor& x);

}  // namespace detail

}  // namespace nyala::ops

namespace nyala {

Tensor operator+(const Operand& a, const Operand& b);
Tensor operator-(const Operand& a, const Operand& b);
Tensor operator*(const Operand& a, const Operand& b);
Tensor operator/(const Operand& a, const Operand& b);
/// Truth values and bytes become int32.
Tensor operator-(const Tensor& a);

}  // namespace nyala
