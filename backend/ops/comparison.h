#pragma once

#include <nyala/backend/core/op.h>

namespace nyala::ops {

/// Elementwise with NumPy broadcasting; inputs of two dtypes are promoted; the result is bool and not
/// differentiable. Comparisons with NaN are false, but not_equal, which is true.
Tensor equal(const Tensor& a, const Tensor& b);
Tensor not_equal(const Tensor& a, const Tensor& b);
Tensor less(const Tensor& a, const Tensor& b);
Tensor less_equal(const Tensor& a, const Tensor& b);
Tensor greater(const Tensor& a, const Tensor& b);
Tensor greater_equal(const Tensor& a, const Tensor& b);

/// x != value, where x may be symbolic.
Tensor not_equal(const Tensor& x, double value);
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
Tensor isclose(const Tensor& a, const Tensor& b, const ClosenessDescriptor& tolerances = {});

extern const OpDef kEqual, kNotEqual, kLess, kLessEqual, kGreater, kGreaterEqual, kIsclose;

}  // namespace nyala::ops

namespace nyala {

/// Elementwise, with a bool tensor as result, as in NumPy: whether two handles name one tensor is not asked.
/// Numbers take the dtype of the tensor beside them where it holds them, as Python's do.
Tensor operator<(const Tensor& a, const Tensor& b);
Tensor operator<(const Tensor& a, double b);
Tensor operator<(double a, const Tensor& b);
Tensor operator<=(const Tensor& a, const Tensor& b);
Tensor operator<=(const Tensor& a, double b);
Tensor operator<=(double a, const Tensor& b);
Tensor operator>(const Tensor& a, const Tensor& b);
Tensor operator>(const Tensor& a, double b);
Tensor operator>(double a, const Tensor& b);
Tensor operator>=(const Tensor& a, const Tensor& b);
Tensor operator>=(const Tensor& a, double b);
Tensor operator>=(double a, const Tensor& b);
Tensor operator==(const Tensor& a, const Tensor& b);
Tensor operator==(const Tensor& a, double b);
Tensor operator==(double a, const Tensor& b);
Tensor operator!=(const Tensor& a, const Tensor& b);
Tensor operator!=(const Tensor& a, double b);
Tensor operator!=(double a, const Tensor& b);

}  // namespace nyala
