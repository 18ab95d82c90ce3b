// Members of Tensor that are ops, which core does not know.
#include <string>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/base/creation.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/rounding.h>
#include <nyala/backend/ops/reduction/arg_reduction.h>
#include <nyala/backend/ops/reduction/reduction.h>
#include <nyala/backend/ops/reduction/statistics.h>
#include <nyala/backend/ops/shape/shape.h>
#include <nyala/backend/ops/shape/transpose.h>

namespace nyala {

using namespace nyala::detail;

namespace {

const Tensor& checked(const Tensor& x, std::string_view where) {
  if (!x.defined()) throw_empty_tensor(where);
  return x;
}

}  // namespace

Tensor Tensor::arange(double stop) { return ops::arange(stop); }
Tensor Tensor::arange(double start, double stop, double step, std::optional<DType> dtype) {
  return ops::arange(start, stop, {.step = step, .dtype = dtype});
}

Tensor::operator bool() const {
  if (checked(*this, "a condition").num_elements() != 1)
    throw ShapeError("a condition: expected a tensor with one element, received shape " + shape_.to_string() +
                     "; any() or all() make one, defined() asks whether there is a tensor");
  return item() != 0.0;
}

Tensor Tensor::sum(const Axes& axes, bool keepdims) const {
  return ops::sum(checked(*this, "sum"), axes, keepdims);
}
Tensor Tensor::mean(const Axes& axes, bool keepdims) const {
  return ops::mean(checked(*this, "mean"), axes, keepdims);
}
Tensor Tensor::max(const Axes& axes, bool keepdims) const {
  return ops::max(checked(*this, "max"), axes, keepdims);
}
Tensor Tensor::min(const Axes& axes, bool keepdims) const {
  return ops::min(checked(*this, "min"), axes, keepdims);
}
Tensor Tensor::prod(const Axes& axes, bool keepdims) const {
  return ops::prod(checked(*this, "prod"), axes, keepdims);
}
Tensor Tensor::var(const Axes& axes, bool keepdims) const {
  return ops::var(checked(*this, "var"), axes, keepdims);
}
Tensor Tensor::std(const Axes& axes, bool keepdims) const {
  return ops::std(checked(*this, "std"), axes, keepdims);
}
Tensor Tensor::any(const Axes& axes, bool keepdims) const {
  return ops::any(checked(*this, "any"), axes, keepdims);
}
Tensor Tensor::all(const Axes& axes, bool keepdims) const {
  return ops::all(checked(*this, "all"), axes, keepdims);
}
Tensor Tensor::argmax(std::optional<int> axis, bool keepdims) const {
  return ops::argmax(checked(*this, "argmax"), axis, keepdims);
}
Tensor Tensor::argmin(std::optional<int> axis, bool keepdims) const {
  return ops::argmin(checked(*this, "argmin"), axis, keepdims);
}

Tensor Tensor::reshape(const Shape& shape) const { return ops::reshape(checked(*this, "reshape"), shape); }
Tensor Tensor::ravel() const { return ops::ravel(checked(*this, "ravel")); }
Tensor Tensor::squeeze(const Axes& axes) const { return ops::squeeze(checked(*this, "squeeze"), axes); }
Tensor Tensor::transpose(const Axes& axes) const { return ops::transpose(checked(*this, "transpose"), axes); }
Tensor Tensor::swapaxes(int first, int second) const {
  return ops::swapaxes(checked(*this, "swapaxes"), first, second);
}
Tensor Tensor::astype(DType dtype) const { return ops::cast(checked(*this, "astype"), dtype); }
Tensor Tensor::clip(double low, double high) const { return ops::clip(checked(*this, "clip"), low, high); }

Tensor& Tensor::operator+=(const Operand& y) & { return *this = checked(*this, "+=") + y; }
Tensor& Tensor::operator-=(const Operand& y) & { return *this = checked(*this, "-=") - y; }
Tensor& Tensor::operator*=(const Operand& y) & { return *this = checked(*this, "*=") * y; }
Tensor& Tensor::operator/=(const Operand& y) & { return *this = checked(*this, "/=") / y; }

TensorRowIterator Tensor::begin() const {
  if (checked(*this, "rows of a tensor").rank() == 0 || shape_[0] == None)
    throw ShapeError("rows of a tensor: expected an axis 0 of known size, received shape " +
                     shape_.to_string());
  return {*this, 0};
}
TensorRowIterator Tensor::end() const { return {*this, checked(*this, "rows of a tensor").shape_[0]}; }

}  // namespace nyala
