#pragma once

#include <nyala/backend/core/op.h>

namespace nyala::ops {

struct SumBuffersDescriptor {
  bool to_all = true;  // else to the output alone
};
/// Sums N >= 2 tensors of one shape in place, in one pass over their memory: the output is given and is the
/// first of them, the inputs are the others in their order, and with `to_all` they are written, too. Any
/// arithmetic dtype. Not differentiable.
extern const OpDef kSumBuffers;

namespace detail {

/// The same on CPU tensors of any CPU devices.
void sum_buffers(std::span<const Tensor> buffers, bool to_all);

}  // namespace detail

}  // namespace nyala::ops
