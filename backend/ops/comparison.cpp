#include <cmath>
#include <functional>

#include <nyala/backend/ops/binary_op.h>
#include <nyala/backend/ops/comparison.h>

namespace nyala::ops {

namespace detail {

void infer_test(InferContext& c) {
  infer_broadcast(c);
  c.output(0, broadcast(c.shape(0), c.shape(1), c.name()), DType::bool_);
}

}  // namespace detail

namespace {

using namespace detail;

void infer_not_equal_scalar(InferContext& c) { c.output(0, c.shape(0), DType::bool_); }

void not_equal_scalar_reference(const KernelCall& call) {
  const double value = call.descriptor<NotEqualScalarDescriptor>().value;
  const int64_t count = call.output(0).num_elements();
  dispatch_arithmetic(call.input(0).dtype(), call.op->name, [&]<class T>(T) {
    // A float is compared with the nearest float, as a constant of its own dtype would be.
    const double nearest = static_cast<double>(static_cast<T>(value));
    const double wanted = std::is_floating_point_v<T> ? nearest : value;
    for (int64_t i = 0; i < count; ++i)
      call.out<bool>(0)[i] = static_cast<double>(call.in<T>(0)[i]) != wanted;
  });
}

void isclose_reference(const KernelCall& call) {
  const auto& d = call.descriptor<ClosenessDescriptor>();
  dispatch_arithmetic(call.input(0).dtype(), "isclose", [&]<class T>(T) {
    for_each_broadcast(call.input(0).shape(), call.input(1).shape(), call.output(0).shape(),
                       [&](int64_t i, int64_t ia, int64_t ib) {
                         const double a = static_cast<double>(call.in<T>(0)[ia]);
                         const double b = static_cast<double>(call.in<T>(1)[ib]);
                         const bool near =
                             std::isfinite(b) && std::abs(a - b) <= d.atol + d.rtol * std::abs(b);
                         const bool both_nan = d.equal_nan && std::isnan(a) && std::isnan(b);
                         call.out<bool>(0)[i] = near || a == b || both_nan;
                       });
  });
}

}  // namespace

const OpDef kEqual = {.name = "equal", .infer = infer_test, .reference = binary_loop<std::equal_to<>, bool>};
const OpDef kNotEqual = {
    .name = "not_equal", .infer = infer_test, .reference = binary_loop<std::not_equal_to<>, bool>};
const OpDef kNotEqualScalar = {
    .name = "not_equal", .infer = infer_not_equal_scalar, .reference = not_equal_scalar_reference};
const OpDef kLess = {.name = "less", .infer = infer_test, .reference = binary_loop<std::less<>, bool>};
const OpDef kLessEqual = {
    .name = "less_equal", .infer = infer_test, .reference = binary_loop<std::less_equal<>, bool>};
const OpDef kGreater = {
    .name = "greater", .infer = infer_test, .reference = binary_loop<std::greater<>, bool>};
const OpDef kGreaterEqual = {
    .name = "greater_equal", .infer = infer_test, .reference = binary_loop<std::greater_equal<>, bool>};
const OpDef kIsclose = {.name = "isclose", .infer = infer_test, .reference = isclose_reference};

namespace {

Tensor compare(const OpDef& op, const Tensor& a, const Tensor& b) {
  return apply_binary(op, a, b, promote(a.dtype(), b.dtype()));
}

}  // namespace

Tensor equal(const Tensor& a, const Tensor& b) { return compare(kEqual, a, b); }
Tensor not_equal(const Tensor& a, const Tensor& b) { return compare(kNotEqual, a, b); }
Tensor not_equal(const Tensor& x, double value) {
  return dispatch(kNotEqualScalar, NotEqualScalarDescriptor{value}, {&x});
}
Tensor less(const Tensor& a, const Tensor& b) { return compare(kLess, a, b); }
Tensor less_equal(const Tensor& a, const Tensor& b) { return compare(kLessEqual, a, b); }
Tensor greater(const Tensor& a, const Tensor& b) { return compare(kGreater, a, b); }
Tensor greater_equal(const Tensor& a, const Tensor& b) { return compare(kGreaterEqual, a, b); }
Tensor isclose(const Tensor& a, const Tensor& b, const ClosenessDescriptor& tolerances) {
  return apply_binary(kIsclose, a, b, promote(a.dtype(), b.dtype()), tolerances);
}

}  // namespace nyala::ops

namespace nyala {

namespace {

/// The dtype in which integers of `dtype` and `value` can be compared.
DType integers_with(DType dtype, double value) {
  if (std::abs(value) < 0x1p31) return promote(dtype, DType::int32);
  return DType::int64;
}

/// `value` as a scalar that is compared with x: no float32 would hold all of x's integers.
Tensor number_beside(const Tensor& x, double value) {
  DType dtype = x.dtype();
  if (!is_floating(dtype)) {
    const bool whole = std::floor(value) == value && std::abs(value) < 0x1p63;
    dtype = whole ? integers_with(dtype, value) : DType::float32;
  }
  return Tensor::full({}, value, dtype, x.device());
}

}  // namespace

Tensor operator<(const Tensor& a, const Tensor& b) { return ops::less(a, b); }
Tensor operator<(const Tensor& a, double b) { return ops::less(a, number_beside(a, b)); }
Tensor operator<(double a, const Tensor& b) { return ops::less(number_beside(b, a), b); }
Tensor operator<=(const Tensor& a, const Tensor& b) { return ops::less_equal(a, b); }
Tensor operator<=(const Tensor& a, double b) { return ops::less_equal(a, number_beside(a, b)); }
Tensor operator<=(double a, const Tensor& b) { return ops::less_equal(number_beside(b, a), b); }
Tensor operator>(const Tensor& a, const Tensor& b) { return ops::greater(a, b); }
Tensor operator>(const Tensor& a, double b) { return ops::greater(a, number_beside(a, b)); }
Tensor operator>(double a, const Tensor& b) { return ops::greater(number_beside(b, a), b); }
Tensor operator>=(const Tensor& a, const Tensor& b) { return ops::greater_equal(a, b); }
Tensor operator>=(const Tensor& a, double b) { return ops::greater_equal(a, number_beside(a, b)); }
Tensor operator>=(double a, const Tensor& b) { return ops::greater_equal(number_beside(b, a), b); }
Tensor operator==(const Tensor& a, const Tensor& b) { return ops::equal(a, b); }
Tensor operator==(const Tensor& a, double b) { return ops::equal(a, number_beside(a, b)); }
Tensor operator==(double a, const Tensor& b) { return ops::equal(number_beside(b, a), b); }
Tensor operator!=(const Tensor& a, const Tensor& b) { return ops::not_equal(a, b); }
Tensor operator!=(const Tensor& a, double b) { return ops::not_equal(a, number_beside(a, b)); }
Tensor operator!=(double a, const Tensor& b) { return ops::not_equal(number_beside(b, a), b); }

}  // namespace nyala
