#pragma once

#include <optional>

#include <nyala/backend/core/op.h>

namespace nyala::ops {

/// The index of the first largest (smallest) value along `axis`, int32 as in Keras; without an axis that in
/// the flattened tensor. NaN is never chosen unless there is nothing else. Not differentiable. Throws
/// ShapeError for an axis that does not exist or is empty.
Tensor argmax(const Tensor& x, std::optional<int> axis = {}, bool keepdims = false);
Tensor argmin(const Tensor& x, std::optional<int> axis = {}, bool keepdims = false);

extern const OpDef kArgmax, kArgmin;  // described by ReductionDescriptor

}  // namespace nyala::ops
