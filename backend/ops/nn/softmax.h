#pragma once

#include <nyala/backend/core/op.h>

namespace nyala::ops {

/// exp(x) / sum of exp(x) along `axis`, computed after subtracting the maximum.
Tensor softmax(const Tensor& x, int axis = -1);
/// Over several axes together.
Tensor softmax(const Tensor& x, const Axes& axes);

/// log(softmax(x)), computed without the division.
Tensor log_softmax(const Tensor& x, int axis = -1);
Tensor log_softmax(const Tensor& x, const Axes& axes);

struct SoftmaxDescriptor {
  int32_t axis = -1;  // from the end, so that it holds for abstract shapes too
};

/// Input (x).
extern const OpDef kSoftmax, kLogSoftmax;
/// Inputs (gradient, y) -> the gradient of x.
extern const OpDef kSoftmaxBackward, kLogSoftmaxBackward;

}  // namespace nyala::ops
