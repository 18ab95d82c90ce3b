#pragma once

#include <optional>

#include <nyala/backend/core/op.h>

namespace nyala::ops {

/// The index of the first largest (smallest) value along `axis`, int32 as in Keras; without an axis that in
/// the flattened tensor. NaN is never chosen unless there is nothing else. Not differentiable. Throws
/// ShapeError for an axis that does not exist or is empty.
Tensor argmax(const Tensor& x, std::optional<int> axis = {}, bool keepdims = false);
Tensor argmin(const Tensor& x, std::optional<int> axis = {}, bool keepdims = false);

/// The k largest values along the last axis, largest first, and their int32 indices; of equal values the one
/// with the smaller index comes first, NaN comes last. The values are differentiable. Throws ShapeError for a
/// k outside 1 to the axis' size.
struct TopK {
  Tensor values, indices;
};
TopK top_k(const Tensor& x, int64_t k);

/// Per row of `predictions` (rows, classes): whether fewer than k classes are predicted above the row's
/// target (a class number; integers of shape (rows)). False for a target outside the classes or with a
/// prediction that is not finite.
Tensor in_top_k(const Tensor& targets, const Tensor& predictions, int64_t k);

extern const OpDef kArgmax, kArgmin;  // described by ReductionDescriptor
struct TopKDescriptor {
  int64_t k = 1;
  int64_t axis_size = 0;  // of the gradient's result
};
/// kTopKGradient: (indices, gradient of the values) -> gradient of x.
extern const OpDef kTopK, kTopKGradient, kInTopK;

}  // namespace nyala::ops
