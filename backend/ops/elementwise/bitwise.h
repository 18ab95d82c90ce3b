#pragma once

#include <nyala/backend/core/op.h>

namespace nyala::ops {

/// Elementwise on the bits of integers, with NumPy broadcasting; inputs of two dtypes are promoted, numbers
/// take the dtype of the tensor beside them (Operand). Of bool tensors the logical ops. Not differentiable.
/// Throw DTypeError for floating tensors.
Tensor bitwise_and(const Operand& a, const Operand& b);
Tensor bitwise_or(const Operand& a, const Operand& b);
Tensor bitwise_xor(const Operand& a, const Operand& b);
Tensor bitwise_not(const Tensor& x);

extern const OpDef kBitwiseAnd, kBitwiseOr, kBitwiseXor, kBitwiseNot;

}  // namespace nyala::ops

namespace nyala {

/// As NumPy has them: (x > 0) & (x < 1), mask | other, ~mask.
Tensor operator&(const Operand& a, const Operand& b);
Tensor operator|(const Operand& a, const Operand& b);
Tensor operator^(const Operand& a, const Operand& b);
Tensor operator~(const Tensor& x);

}  // namespace nyala
