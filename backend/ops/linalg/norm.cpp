#include <cmath>
#include <limits>
#include <vector>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/base/reduction_axes.h>
#include <nyala/backend/ops/elementwise/binary.h>
#include <nyala/backend/ops/elementwise/comparison.h>
#include <nyala/backend/ops/elementwise/exponential.h>
#include <nyala/backend/ops/elementwise/rounding.h>
#include <nyala/backend/ops/linalg/matrix_parts.h>
#include <nyala/backend/ops/linalg/norm.h>
#include <nyala/backend/ops/linalg/svd.h>
#include <nyala/backend/ops/reduction/reduction.h>
#include <nyala/backend/ops/shape/shape.h>
#include <nyala/backend/ops/shape/transpose.h>

namespace nyala::ops {

using namespace nyala::ops::detail;
using Kind = NormOrder::Kind;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

[[noreturn]] void refuse(const NormOrder& ord, const char* of, const char* known) {
  throw InvalidArgumentError(std::string("norm: expected ") + known + " for " + of + ", received ord " +
                             ord.to_string());
}

/// The axes, not negative, in the order that was given.
std::vector<int> norm_axes(const Tensor& x, const Axes& axis) {
  axes_mask(x.shape(), axis, "norm");
  std::vector<int> axes = axis.list();
  if (axes.empty())
    for (int i = 0; i < x.rank(); ++i) axes.push_back(i);
  for (int& one : axes) one = one < 0 ? one + x.rank() : one;
  if (axes.size() != 1 && axes.size() != 2)
    throw ShapeError("norm: expected one or two axes, received " + std::to_string(axes.size()) +
                     " of x of shape " + x.shape().to_string());
  return axes;
}

Tensor root_of_squares(const Tensor& x, const Axes& axes) { return sqrt(sum(square(x), axes, true)); }

// The reduced axes stay with size 1 in these two.

Tensor vector_norm(const Tensor& x, const NormOrder& ord, int axis) {
  if (ord.kind() == Kind::none || ord.is(2)) return root_of_squares(x, axis);
  if (ord.kind() != Kind::number) refuse(ord, "vectors", "a number");
  if (ord.is(kInfinity)) return max(absolute(x), axis, true);
  if (ord.is(-kInfinity)) return min(absolute(x), axis, true);
  if (ord.is(0)) return sum(cast(not_equal(x, 0), x.dtype()), axis, true);
  return power(sum(power(absolute(x), ord.number()), axis, true), 1 / ord.number());
}

Tensor singular_norm(const Tensor& x, const NormOrder& ord, const std::vector<int>& axes) {
  const Tensor s = svd(moveaxis(x, axes, {-2, -1}), false, false).s;
  const Tensor found = ord.is(2) ? max(s, -1) : ord.is(-2) ? min(s, -1) : sum(s, -1);
  return expand_dims(found, axes);
}

Tensor matrix_norm(const Tensor& x, const NormOrder& ord, const std::vector<int>& axes) {
  const int row = axes[0], column = axes[1];
  if (ord.kind() == Kind::none || ord.kind() == Kind::frobenius) return root_of_squares(x, axes);
  if (ord.is(1)) return max(sum(absolute(x), row, true), column, true);
  if (ord.is(-1)) return min(sum(absolute(x), row, true), column, true);
  if (ord.is(kInfinity)) return max(sum(absolute(x), column, true), row, true);
  if (ord.is(-kInfinity)) return min(sum(absolute(x), column, true), row, true);
  if (ord.kind() == Kind::nuclear || ord.is(2) || ord.is(-2)) return singular_norm(x, ord, axes);
  refuse(ord, "matrices", "none, \"fro\", \"nuc\", 1, -1, 2, -2, infinity or -infinity");
}

}  // namespace

NormOrder::NormOrder(const std::string& name) {
  if (name != "fro" && name != "nuc")
    throw InvalidArgumentError("norm: expected ord \"fro\", \"nuc\" or a number, received \"" + name + "\"");
  kind_ = name == "fro" ? Kind::frobenius : Kind::nuclear;
}

std::string NormOrder::to_string() const {
  if (kind_ == Kind::none) return "none";
  if (kind_ != Kind::number) return kind_ == Kind::frobenius ? "\"fro\"" : "\"nuc\"";
  return std::to_string(number_);
}

Tensor norm(const Tensor& x, const NormOrder& ord, const Axes& axis, bool keepdims) {
  const std::vector<int> axes = norm_axes(x, axis);
  const Tensor wide = widened(x);
  const Tensor found = axes.size() == 1 ? vector_norm(wide, ord, axes[0]) : matrix_norm(wide, ord, axes);
  return narrowed(keepdims ? found : squeeze(found, axes), x.dtype());
}

}  // namespace nyala::ops
