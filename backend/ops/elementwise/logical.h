#pragma once

#include <nyala/backend/core/op.h>

namespace nyala::ops {

/// Elementwise truth with NumPy broadcasting: inputs of any dtype count as true where they are not 0. The
/// result is bool and not differentiable.
Tensor logical_and(const Operand& a, const Operand& b);
Tensor logical_or(const Operand& a, const Operand& b);
Tensor logical_xor(const Operand& a, const Operand& b);
Tensor logical_not(const Tensor& x);

extern const OpDef kLogicalAnd, kLogicalOr, kLogicalXor, kLogicalNot;

}  // namespace nyala::ops
