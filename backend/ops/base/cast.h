#pragma once

#include <nyala/backend/core/op.h>

namespace nyala::ops {

/// `x` as another dtype (itself when it has it already). Floats become integers by truncation, numbers become
/// bool by != 0. Between floating dtypes the gradient is cast back; others cut it.
Tensor cast(const Tensor& x, DType dtype);

struct CastDescriptor {
  DType dtype = DType::float32;
};
extern const OpDef kCast;

}  // namespace nyala::ops
