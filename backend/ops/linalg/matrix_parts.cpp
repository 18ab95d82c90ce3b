#include <nyala/backend/ops/linalg/matrix_parts.h>

#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/base/creation.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/comparison.h>
#include <nyala/backend/ops/elementwise/rounding.h>
#include <nyala/backend/ops/shape/shape.h>
#include <nyala/backend/ops/shape/slice.h>
#include <nyala/backend/ops/shape/transpose.h>

namespace nyala::ops::detail {

namespace {

/// 1 on and below the diagonal, as a matrix of the size, dtype and device of those of x.
Tensor ones_below(const Tensor& x) {
  const Tensor places =
      arange(0, static_cast<double>(x.shape()[-1]), {.dtype = DType::int32, .device = x.device()});
  return cast(greater_equal(expand_dims(places, 1), places), x.dtype());
}

Tensor identity(const Tensor& x) { return eye(x.shape()[-1], {.dtype = x.dtype(), .device = x.device()}); }

}  // namespace

Tensor widened(const Tensor& x) {
  return cast(x, is_floating(x.dtype()) ? dtype_of_sums(x.dtype()) : DType::float32);
}

Tensor narrowed(const Tensor& y, DType dtype) { return is_half(dtype) ? cast(y, dtype) : y; }

Tensor transposed(const Tensor& x) { return swapaxes(x, -2, -1); }

Tensor lower_part(const Tensor& x) { return x * ones_below(x); }
Tensor upper_part(const Tensor& x) { return x * transposed(ones_below(x)); }

Tensor with_half_diagonal(const Tensor& x) { return x * (1.0 - identity(x) * 0.5); }

Tensor diagonal_matrix(const Tensor& x) { return expand_dims(x, -1) * identity(x); }

Tensor first_columns(const Tensor& x, int64_t count) { return slice_axis(x, x.rank() - 1, {0, count}); }

Tensor columns_from(const Tensor& x, int64_t first) { return slice_axis(x, x.rank() - 1, {first}); }

Tensor safe_reciprocal(const Tensor& x) { return x / (square(x) + 1e-20); }

Tensor or_zeros(const Tensor& gradient, const Tensor& like) {
  return gradient.defined() ? gradient : zeros(like.shape(), like.dtype(), like.device());
}

}  // namespace nyala::ops::detail
