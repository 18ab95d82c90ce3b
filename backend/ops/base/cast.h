#pragma once

#include <nyala/backend/core/op.h>

namespace nyala::ops {

/// `x` as another dtype (itself when it has it already). Floats become integers by truncation, numbers become
/// bool by != 0. Between floating dtypes the gradient is cast back; others cut it.
Tensor cast(const Tensor& x, DType dtype);

namespace detail {

/// cast() of a leaf, whose bytes the tape needs not hold: ops behind keep only the shape of the result, and
/// backward casts again where a gradient reads it.
Tensor cast_of_leaf(const Tensor& leaf, DType dtype);

}  // namespace detail

struct CastDescriptor {
  DType dtype = DType::float32;
};
extern const OpDef kCast;

}  // namespace nyala::ops
