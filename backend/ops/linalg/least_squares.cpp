#include <algorithm>
#include <limits>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/binary.h>
#include <nyala/backend/ops/elementwise/comparison.h>
#include <nyala/backend/ops/linalg/least_squares.h>
#include <nyala/backend/ops/linalg/matrix_parts.h>
#include <nyala/backend/ops/linalg/svd.h>
#include <nyala/backend/ops/nn/matmul.h>
#include <nyala/backend/ops/reduction/reduction.h>
#include <nyala/backend/ops/shape/shape.h>

namespace nyala::ops {

using namespace nyala::ops::detail;

namespace {

double epsilon_of(DType dtype) {
  return dtype == DType::float64 ? std::numeric_limits<double>::epsilon()
                                 : static_cast<double>(std::numeric_limits<float>::epsilon());
}

/// Epsilon times the larger size of the matrices; svd() has refused unknown sizes.
double epsilon_of_size(const Tensor& x) {
  return epsilon_of(x.dtype()) * static_cast<double>(std::max(x.shape()[-2], x.shape()[-1]));
}

bool has_values(const Tensor& s) { return s.shape()[-1] != 0; }

}  // namespace

Tensor pinv(const Tensor& x, std::optional<double> rcond) {
  const Tensor wide = widened(x);
  const auto [u, s, vh] = svd(wide, false);
  Tensor kept = s;
  if (has_values(s)) {
    const Tensor cutoff = max(s, -1, true) * rcond.value_or(10 * epsilon_of_size(wide));
    // Infinity makes 1 / s 0, and its gradient, too.
    kept = where(s > cutoff, s, std::numeric_limits<double>::infinity());
  }
  const Tensor inverse = matmul(transposed(vh) / expand_dims(kept, -2), u, {false, true});
  return narrowed(inverse, x.dtype());
}

Tensor matrix_rank(const Tensor& x, std::optional<double> tol) {
  const Tensor wide = widened(x), s = svd(wide, false, false).s;
  if (!has_values(s)) return sum(cast(s, DType::int32), -1);
  const Tensor counted = tol ? s > *tol : s > max(s, -1, true) * epsilon_of_size(wide);
  return sum(cast(counted, DType::int32), -1);
}

Tensor lstsq(const Tensor& a, const Tensor& b, std::optional<double> rcond) {
  if (a.rank() != 2 || b.rank() < 1 || b.rank() > 2)
    throw ShapeError("lstsq: expected a of two axes and b of one or two, received shapes " +
                     a.shape().to_string() + " and " + b.shape().to_string());
  if (a.shape()[0] != b.shape()[0] && a.shape()[0] != None && b.shape()[0] != None)
    throw ShapeError("lstsq: expected as many rows of a as of b, received shapes " + a.shape().to_string() +
                     " and " + b.shape().to_string());
  const DType dtype = promote(widened(a).dtype(), widened(b).dtype());
  const Tensor left = cast(a, dtype), given = cast(b, dtype);
  const Tensor right = b.rank() == 1 ? expand_dims(given, 1) : given;
  const auto [u, s, vh] = svd(left, false);
  const double cutoff = rcond && *rcond < 0 ? epsilon_of(dtype) : rcond.value_or(epsilon_of_size(left));
  Tensor inverse = s;
  if (has_values(s)) {
    const Tensor kept = s >= max(s) * cutoff;
    inverse = where(kept, 1.0 / where(kept, s, 1.0), 0.0);
  }
  const Tensor x = matmul(vh, expand_dims(inverse, 1) * matmul(u, right, {true, false}), {true, false});
  return narrowed(b.rank() == 1 ? squeeze(x, 1) : x, promote(a.dtype(), b.dtype()));
}

}  // namespace nyala::ops
