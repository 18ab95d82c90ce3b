#pragma once

#include <nyala/backend/core/op.h>
#include <nyala/backend/ops/base/strided_copy.h>

namespace nyala::ops {

/// The tensors one behind the other along `axis`; their other sizes are equal, their dtypes are promoted to
/// one. Throws InvalidArgumentError for none, ShapeError where they do not fit.
Tensor concatenate(const Tensors& tensors, int axis = -1);
/// The tensors, of one shape, along a new axis at position `axis` of the result.
Tensor stack(const Tensors& tensors, int axis = 0);

struct ConcatenateDescriptor {
  int32_t axis = 0;  // not negative
};
/// Any number of inputs.
extern const OpDef kConcatenate;

namespace detail {

/// Where input `i` of a call of kConcatenate goes; the axis position behind it is added to `position`.
StridedCopy concatenate_copy(const KernelCall& call, size_t i, int64_t& position);

}  // namespace detail

}  // namespace nyala::ops
