#pragma once

#include <nyala/backend/core/op.h>

namespace nyala::ops {

/// Elementwise with NumPy broadcasting; inputs of two dtypes are promoted, numbers take the dtype of the
/// tensor beside them (Operand). NaN wins in maximum and minimum; at a tie the whole gradient goes to `a`, as
/// in TensorFlow.
Tensor maximum(const Operand& a, const Operand& b);
Tensor minimum(const Operand& a, const Operand& b);
/// a to the power of b. Integers to a negative power throw where the kernel meets them (NumericError), but
/// become float32 where that power is a number. The gradient of b takes log(a) for 0 where a <= 0, as
/// TensorFlow's: it is 0 there, and NaN where a^b is not finite. That of a is 0 where b is 0, at a = 0 too,
/// for a^0 is 1 everywhere; TensorFlow gives NaN there.
Tensor power(const Operand& a, const Operand& b);
/// a - b * floor(a / b): the result has the sign of b. Integers by 0 throw NumericError.
Tensor mod(const Operand& a, const Operand& b);
/// floor(a / b), in the promoted dtype; not differentiable. Integers by 0 throw NumericError.
Tensor floor_divide(const Operand& a, const Operand& b);
/// (a - b)^2.
Tensor squared_difference(const Operand& a, const Operand& b);
/// The angle of the point (x, y) in radians, -pi to pi; integers become float32.
Tensor arctan2(const Operand& y, const Operand& x);

/// a where the condition is true (not 0), else b; all three broadcast, a and b are promoted.
Tensor where(const Tensor& condition, const Operand& a, const Operand& b);

extern const OpDef kMaximum, kMinimum, kPower, kMod, kFloorDivide, kSquaredDifference, kArctan2, kWhere;

/// Gradients before sum_to_shape: (a, b, gradient) -> that of a (which = 0) or b (1), in the result's shape.
struct BinaryGradientDescriptor {
  int which = 0;
};
extern const OpDef kMaximumGradient, kMinimumGradient, kPowerGradient, kModGradient,
    kSquaredDifferenceGradient, kArctan2Gradient;

struct PowerDescriptor {
  double exponent = 1.0;
};
extern const OpDef kPowerScalar, kPowerScalarGradient;

/// (condition, gradient) -> gradient where the condition is `kept`, else 0.
struct WhereGradientDescriptor {
  bool kept = true;
};
extern const OpDef kWhereGradient;

}  // namespace nyala::ops
