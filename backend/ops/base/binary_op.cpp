#include <nyala/backend/ops/base/binary_op.h>

#include <cmath>
#include <limits>

namespace nyala::ops::detail {

namespace {

template <class T>
bool holds(int64_t value) {
  return value >= std::numeric_limits<T>::min() && value <= std::numeric_limits<T>::max();
}

DType integer_holding(int64_t value) { return holds<int32_t>(value) ? DType::int32 : DType::int64; }

DType dtype_of_number(const Number& x) {
  if (x.kind() == Number::Kind::truth) return DType::bool_;
  return x.is_floating() ? DType::float32 : integer_holding(x.as<int64_t>());
}

/// Of a tensor of `dtype` beside a number.
DType dtype_beside(DType dtype, const Number& number, SmallIntegers small) {
  if (is_floating(dtype)) return dtype;
  if (number.is_floating()) return DType::float32;
  const int64_t value = number.as<int64_t>();
  if (dtype == DType::bool_) return number.kind() == Number::Kind::truth ? dtype : integer_holding(value);
  if (dtype == DType::uint8 && (small == SmallIntegers::widen || !holds<uint8_t>(value)))
    return integer_holding(value);
  return promote(dtype, dtype == DType::int32 ? integer_holding(value) : dtype);
}

}  // namespace

DType common_dtype(const Operand& a, const Operand& b, SmallIntegers small) {
  const Tensor *x = a.tensor(), *y = b.tensor();
  if (x && y) return promote(x->dtype(), y->dtype());
  if (x) return dtype_beside(x->dtype(), b.number(), small);
  if (y) return dtype_beside(y->dtype(), a.number(), small);
  return promote(dtype_of_number(a.number()), dtype_of_number(b.number()));
}

DType floating_of(DType dtype) { return is_floating(dtype) ? dtype : DType::float32; }

Operand operand_of(const Number& number) {
  if (number.kind() == Number::Kind::truth) return number.as<bool>();
  if (number.is_floating()) return number.as<double>();
  return number.as<int64_t>();
}

const Tensor& in_dtype(const Operand& x, DType dtype, const Operand& other, Tensor& made) {
  if (x.tensor() && x.tensor()->dtype() == dtype) return *x.tensor();
  if (x.tensor())
    made = cast(*x.tensor(), dtype);
  else
    made = Tensor::full({}, x.number(), dtype, other.tensor() ? other.tensor()->device() : current_device());
  return made;
}

}  // namespace nyala::ops::detail
