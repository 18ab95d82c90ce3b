#pragma once

#include <vector>

#include <nyala/backend/core/op.h>

namespace nyala::ops {

/// Reductions over `axes` (empty: all). With keepdims the reduced axes stay with size 1. Float32 sums are
/// accumulated in double or by chunks of fixed size, so their bits do not depend on the number of threads.
/// Sums and products of bool are int32, those of uint8 int64: Keras has uint32, which there is not here and
/// whose every value int64 holds. Those of int32 and int64 keep their dtype, as in Keras, and wrap around.
/// All throw ShapeError for an axis that does not exist or is named twice.
Tensor sum(const Tensor& x, const Axes& axes = {}, bool keepdims = false);
/// The mean of integers is float32; over nothing it is NaN.
Tensor mean(const Tensor& x, const Axes& axes = {}, bool keepdims = false);
/// The gradient is shared equally among ties. A NaN among the values is the result. Throws ShapeError over
/// nothing.
Tensor max(const Tensor& x, const Axes& axes = {}, bool keepdims = false);
Tensor min(const Tensor& x, const Axes& axes = {}, bool keepdims = false);
Tensor prod(const Tensor& x, const Axes& axes = {}, bool keepdims = false);
/// Whether any or all elements differ from 0: bool, not differentiable.
Tensor any(const Tensor& x, const Axes& axes = {}, bool keepdims = false);
Tensor all(const Tensor& x, const Axes& axes = {}, bool keepdims = false);

/// Bit i of `axes` is set where axis i is reduced.
struct ReductionDescriptor {
  uint32_t axes = 0;
  bool keepdims = false;
};
extern const OpDef kSum, kMean, kMax, kMin, kProd, kAny, kAll;

/// The gradient of sum and mean: spreads (gradient) over `shape`, times `scale`.
struct SpreadDescriptor {
  Shape shape;
  uint32_t axes = 0;
  double scale = 1.0;
};
extern const OpDef kSpread;
/// (x, result, gradient) -> gradient of x, for max and min. Described by ReductionDescriptor.
extern const OpDef kExtremumGradient;
/// (x, gradient) -> gradient of x. Described by ReductionDescriptor.
extern const OpDef kProdGradient;

}  // namespace nyala::ops
