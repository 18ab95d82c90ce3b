#pragma once

#include <nyala/backend/core/op.h>

namespace nyala::ops {

/// The inverse of each square matrix in the last two axes. Integers become float32. Throws ShapeError for
/// matrices that are not square, NumericError from the kernel for a singular one.
Tensor inv(const Tensor& x);

/// x with a x = b: a (..., m, m), b (..., m, n), or one vector (..., m) for each matrix where b has one axis
/// less than a; the axes in front broadcast, dtypes are promoted, integers become float32. The result has the
/// shape of b. Throws ShapeError where they do not fit, NumericError from the kernel for a singular matrix.
Tensor solve(const Tensor& a, const Tensor& b);

/// The same for a triangular a, of which only the triangle is read: the upper one, or the `lower`. A zero on
/// the diagonal gives what division by it gives.
Tensor solve_triangular(const Tensor& a, const Tensor& b, bool lower = false);

/// P x = L U with partial pivoting: U, and below it L without its ones, and in int32 for each row of x its
/// place in the product, as Keras has it on TensorFlow. Not differentiable, as in TensorFlow. Throws
/// ShapeError for matrices that are not square, NumericError from the kernel for a singular one.
struct LuFactor {
  Tensor lu, pivots;
};
LuFactor lu_factor(const Tensor& x);

struct SolveDescriptor {
  bool transpose = false;  // a^T x = b
};
struct TriangularSolveDescriptor {
  bool lower = false;
  bool transpose = false;
};
/// Inputs (a, b) of at least two axes each and of one floating dtype.
extern const OpDef kSolve, kTriangularSolve;
extern const OpDef kInv, kLuFactor;

}  // namespace nyala::ops
