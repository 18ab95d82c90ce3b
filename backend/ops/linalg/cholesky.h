#pragma once

#include <nyala/backend/core/op.h>

namespace nyala::ops {

/// The lower triangular L with L L^T = x, or with `upper` L^T, for each symmetric positive definite matrix in
/// the last two axes, of which the lower triangle is read. Integers become float32. Throws ShapeError for
/// matrices that are not square, NumericError from the kernel for one that is not positive definite.
Tensor cholesky(const Tensor& x, bool upper = false);

/// The inverse of L L^T where x is its Cholesky factor L, or of U^T U where it is U = L^T (`upper`): like
/// Keras on TensorFlow, which takes the factor and not the matrix that Keras' documentation names. The other
/// triangle is not read. A zero on the diagonal gives what division by it gives.
Tensor cholesky_inverse(const Tensor& x, bool upper = false);

/// The logarithm of the determinant of symmetric positive definite matrices, through their Cholesky factor:
/// shape x.shape[:-2]. NaN for a matrix that is not positive definite.
Tensor logdet(const Tensor& x);

struct CholeskyDescriptor {
  bool nan_where_not_definite = false;  // instead of NumericError
};
struct CholeskyInverseDescriptor {
  bool upper = false;
};
extern const OpDef kCholesky, kCholeskyInverse, kLogdet;

}  // namespace nyala::ops
