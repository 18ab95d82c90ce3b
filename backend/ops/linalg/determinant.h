#pragma once

#include <nyala/backend/core/op.h>

namespace nyala::ops {

/// The determinant of each square matrix in the last two axes: shape x.shape[:-2]. Integers become float32.
/// The gradient is that of TensorFlow, which needs the inverse: NumericError for a singular matrix. Throws
/// ShapeError for matrices that are not square.
Tensor det(const Tensor& x);

/// The sign of the determinant (-1, 0 or 1) and the logarithm of its absolute value, which is -infinity for a
/// singular matrix: both of shape x.shape[:-2]. The logarithm is differentiable, the sign's slope is 0.
struct Slogdet {
  Tensor sign, logabsdet;
};
Slogdet slogdet(const Tensor& x);

extern const OpDef kDet, kSlogdet;

}  // namespace nyala::ops
