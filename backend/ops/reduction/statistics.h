#pragma once

#include <vector>

#include <nyala/backend/core/op.h>

namespace nyala::ops {

/// Differentiable; axes and keepdims as in reductions. Integers become float32.
/// var: the mean of (x - mean)^2, over all values (no correction of the count); std: its root. Composed of
/// other ops.
Tensor var(const Tensor& x, const Axes& axes = {}, bool keepdims = false);
Tensor std(const Tensor& x, const Axes& axes = {}, bool keepdims = false);
/// log(sum(exp(x))) without overflow; over nothing -infinity.
Tensor logsumexp(const Tensor& x, const Axes& axes = {}, bool keepdims = false);

extern const OpDef kLogsumexp;  // described by ReductionDescriptor
/// (x, result, gradient) -> gradient of x, gradient * exp(x - result).
extern const OpDef kLogsumexpGradient;

}  // namespace nyala::ops
