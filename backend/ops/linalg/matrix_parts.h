#pragma once

#include <nyala/backend/core/tensor.h>

/// Parts of the matrices in the last two axes, made of ops that have gradients: what gradients of
/// decompositions are made of.
namespace nyala::ops::detail {

/// Integers and bool as float32, and 16-bit floats, too: for functions made of several ops.
Tensor widened(const Tensor& x);
/// `y` in the 16-bit `dtype` that its function was given, if it was.
Tensor narrowed(const Tensor& y, DType dtype);

/// The last two axes in each other's place.
Tensor transposed(const Tensor& x);
/// Square matrices with 0 above (below) the diagonal.
Tensor lower_part(const Tensor& x);
Tensor upper_part(const Tensor& x);
/// Square matrices with half of what is on the diagonal.
Tensor with_half_diagonal(const Tensor& x);
/// Square matrices with `x` on the diagonal, 0 elsewhere.
Tensor diagonal_matrix(const Tensor& x);
/// The first `count` columns; those from `first` on.
Tensor first_columns(const Tensor& x, int64_t count);
Tensor columns_from(const Tensor& x, int64_t first);
/// 1 / x, and 0 for 0, as TensorFlow has it in gradients of decompositions: x / (x^2 + 1e-20).
Tensor safe_reciprocal(const Tensor& x);
/// `gradient`, or zeros for one that is not there.
Tensor or_zeros(const Tensor& gradient, const Tensor& like);

}  // namespace nyala::ops::detail
