// A double beside a tensor of integers is compared as an integer if it is whole, and otherwise both are
// compared in float64: float32 does not hold every int32, so a comparison in it could be wrong.
#include <cmath>
#include <functional>

#include <nyala/backend/ops/base/binary_op.h>
#include <nyala/backend/ops/elementwise/comparison.h>

namespace nyala::ops {

using namespace nyala::detail;

namespace detail {

void infer_test(InferContext& c) {
  infer_broadcast(c);
  c.output(0, broadcast(c.shape(0), c.shape(1), c.name()), DType::bool_);
}

}  // namespace detail

namespace {

using namespace detail;

void infer_not_equal_scalar(InferContext& c) { c.output(0, c.shape(0), DType::bool_); }

/// Whether a whole double is an int64.
bool is_int64(double x) { return std::floor(x) == x && x >= -0x1p63 && x < 0x1p63; }

void not_equal_scalar_reference(const KernelCall& call) {
  const double value = call.descriptor<NotEqualScalarDescriptor>().value;
  const int64_t count = call.output(0).num_elements();
  bool* out = call.out<bool>(0);
  dispatch_any(call.input(0).dtype(), [&]<class T>(T) {
    const T* x = call.in<T>(0);
    if constexpr (std::is_same_v<T, bfloat16> || std::is_same_v<T, float16>) {
      const float nearest(T(static_cast<float>(value)));
      for (int64_t i = 0; i < count; ++i) out[i] = static_cast<float>(x[i]) != nearest;
    } else if constexpr (std::is_floating_point_v<T>) {
      // A float is compared with the nearest float, as a constant of its own dtype would be.
      const T nearest = static_cast<T>(value);
      for (int64_t i = 0; i < count; ++i) out[i] = x[i] != nearest;
    } else {
      const bool whole = is_int64(value);
      const int64_t wanted = whole ? static_cast<int64_t>(value) : 0;
      for (int64_t i = 0; i < count; ++i) out[i] = !whole || static_cast<int64_t>(x[i]) != wanted;
    }
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
const OpDef kNotEqualScalar = {.name = "not_equal",
                               .infer = infer_not_equal_scalar,
                               .reference = not_equal_scalar_reference,
                               .takes_half = true};
const OpDef kLess = {.name = "less", .infer = infer_test, .reference = binary_loop<std::less<>, bool>};
const OpDef kLessEqual = {
    .name = "less_equal", .infer = infer_test, .reference = binary_loop<std::less_equal<>, bool>};
const OpDef kGreater = {
    .name = "greater", .infer = infer_test, .reference = binary_loop<std::greater<>, bool>};
const OpDef kGreaterEqual = {
    .name = "greater_equal", .infer = infer_test, .reference = binary_loop<std::greater_equal<>, bool>};
const OpDef kIsclose = {.name = "isclose", .infer = infer_test, .reference = isclose_reference};

namespace {

/// `x`; a whole double beside integers as the integer that it is.
Operand exact(const Operand& x, const Operand& other) {
  if (x.tensor()) return *x.tensor();
  const bool integers = other.tensor() && !is_floating(other.tensor()->dtype());
  if (x.number().is_floating() && integers && is_int64(x.number().as<double>()))
    return x.number().as<int64_t>();
  return operand_of(x.number());
}

/// The dtype in which two operands are compared: float32 would not hold the integers beside a fraction.
DType comparison_dtype(const Operand& a, const Operand& b) {
  const Operand &x = a.tensor() ? a : b, &other = a.tensor() ? b : a;
  const bool fraction_beside = x.tensor() && !other.tensor() && other.number().is_floating();
  if (fraction_beside && !is_floating(x.tensor()->dtype())) return DType::float64;
  return common_dtype(a, b, SmallIntegers::keep);
}

template <class Parameters = NoDescriptor>
Tensor compare(const OpDef& op, const Operand& a, const Operand& b, const Parameters& p = {}) {
  const Operand x = exact(a, b), y = exact(b, a);
  return apply_binary(op, x, y, comparison_dtype(x, y), p);
}

}  // namespace

Tensor equal(const Operand& a, const Operand& b) { return compare(kEqual, a, b); }
Tensor not_equal(const Operand& a, const Operand& b) {
  if (a.tensor() && !b.tensor()) {
    const double value = b.number().as<double>();
    if (b.number().is_floating() ||
        (is_int64(value) && static_cast<int64_t>(value) == b.number().as<int64_t>()))
      return dispatch(kNotEqualScalar, NotEqualScalarDescriptor{value}, {a.tensor()});
  }
  return compare(kNotEqual, a, b);
}
Tensor less(const Operand& a, const Operand& b) { return compare(kLess, a, b); }
Tensor less_equal(const Operand& a, const Operand& b) { return compare(kLessEqual, a, b); }
Tensor greater(const Operand& a, const Operand& b) { return compare(kGreater, a, b); }
Tensor greater_equal(const Operand& a, const Operand& b) { return compare(kGreaterEqual, a, b); }
Tensor isclose(const Operand& a, const Operand& b, const ClosenessDescriptor& tolerances) {
  return compare(kIsclose, a, b, tolerances);
}

}  // namespace nyala::ops

namespace nyala {

Tensor operator<(const Operand& a, const Operand& b) { return ops::less(a, b); }
Tensor operator<=(const Operand& a, const Operand& b) { return ops::less_equal(a, b); }
Tensor operator>(const Operand& a, const Operand& b) { return ops::greater(a, b); }
Tensor operator>=(const Operand& a, const Operand& b) { return ops::greater_equal(a, b); }
Tensor operator==(const Operand& a, const Operand& b) { return ops::equal(a, b); }
Tensor operator!=(const Operand& a, const Operand& b) { return ops::not_equal(a, b); }

}  // namespace nyala
