#pragma once

#include <nyala/backend/core/op.h>

namespace nyala::ops {

/// Elementwise with NumPy broadcasting; inputs of two dtypes are promoted, numbers take the dtype of the
/// tensor beside them (Operand), and integers meet a fraction in float64; the result is bool and not
/// differentiable. Comparisons with NaN are false, but not_equal, which is true.
Tensor equal(const Operand& a, const Operand& b);
Tensor not_equal(const Operand& a, const Operand& b);
Tensor less(const Operand& a, const Operand& b);
Tensor less_equal(const Operand& a, const Operand& b);
Tensor greater(const Operand& a, const Operand& b);
Tensor greater_equal(const Operand& a, const Operand& b);

/// x != value.
struct NotEqualScalarDescriptor {
  double value = 0.0;
};
extern const OpDef kNotEqualScalar;

/// |a - b| <= absolute_tolerance + relative_tolerance * |b|; infinities are close to themselves only.
struct ClosenessDescriptor {
  double rtol = 1e-5;
  double atol = 1e-8;
  bool equal_nan = false;
};
Tensor isclose(const Operand& a, const Operand& b, const ClosenessDescriptor& tolerances = {});

extern const OpDef kEqual, kNotEqual, kLess, kLessEqual, kGreater, kGreaterEqual, kIsclose;

}  // namespace nyala::ops

namespace nyala {

/// Elementwise, with a bool tensor as result, as in NumPy: whether two handles name one tensor is not asked.
Tensor operator<(const Operand& a, const Operand& b);
Tensor operator<=(const Operand& a, const Operand& b);
Tensor operator>(const Operand& a, const Operand& b);
Tensor operator>=(const Operand& a, const Operand& b);
Tensor operator==(const Operand& a, const Operand& b);
Tensor operator!=(const Operand& a, const Operand& b);

}  // namespace nyala
