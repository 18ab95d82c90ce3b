#pragma once

#include <optional>

#include <nyala/backend/core/op.h>

namespace nyala::ops {

// Composed of the singular value decomposition and other ops, differentiable where these are. Integers become
// float32; 16-bit floats are computed with in float32.

/// The Moore-Penrose inverse (..., n, m) of each matrix (..., m, n) in the last two axes. Singular values of
/// at most `rcond` times the largest count as 0; by default 10 times the larger of m and n times the dtype's
/// epsilon. Throws ShapeError for fewer than two axes or an unknown size of the matrices.
Tensor pinv(const Tensor& x, std::optional<double> rcond = {});

/// How many singular values of each matrix are above `tol`, int32 of shape x.shape[:-2]; by default above the
/// largest one times the larger size times the dtype's epsilon. Not differentiable. Throws as pinv().
Tensor matrix_rank(const Tensor& x, std::optional<double> tol = {});

/// The x of the least norm that makes |a x - b| least, for a (m, n) and b (m) or (m, k): (n) or (n, k).
/// Singular values below `rcond` times the largest count as 0: by default the larger of m and n times the
/// dtype's epsilon, below 0 the epsilon. Throws ShapeError for other shapes.
Tensor lstsq(const Tensor& a, const Tensor& b, std::optional<double> rcond = {});

}  // namespace nyala::ops
