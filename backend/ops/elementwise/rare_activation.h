#pragma once

#include <nyala/backend/core/op.h>

namespace nyala::ops {

/// Keras' activations that few models use; elementwise but the last two. Integers become float32.

/// max(x, 0) + alpha * (exp(min(x, 0) / alpha) - 1).
Tensor celu(const Tensor& x, double alpha = 1.0);
/// x within [-1, 1], the nearer bound outside.
Tensor hard_tanh(const Tensor& x);
/// x - tanh(x).
Tensor tanh_shrink(const Tensor& x);
/// x moved by `threshold` towards 0, and 0 within [-threshold, threshold].
Tensor soft_shrink(const Tensor& x, double threshold = 0.5);
/// x where |x| > threshold, else 0.
Tensor hard_shrink(const Tensor& x, double threshold = 0.5);
/// x above `threshold`, else `default_value`.
Tensor threshold(const Tensor& x, double threshold, double default_value);
/// (x + sqrt(x^2 + b)) / 2.
Tensor squareplus(const Tensor& x, double b = 4.0);
/// 0 up to -1, (x + 1)^2 / 4 up to 1, x above.
Tensor sparse_plus(const Tensor& x);
/// (x + 1) / 2 within [0, 1].
Tensor sparse_sigmoid(const Tensor& x);

/// The first half along `axis` times the sigmoid of the second. Throws ShapeError for an odd size.
Tensor glu(const Tensor& x, int axis = -1);
/// max(x - t, 0) along `axis`, as Keras 3.15 has it on all its backends: with z the entries from the largest
/// on and s their running sums, the support are the first k entries for which z[i] > (s[i] - 1) / (i + 1),
/// and t is (s[0] + ... + s[k - 1] - 1) / k. Where k is 1 that is the projection on the simplex of Martins
/// and Astudillo 2016, who have (s[k - 1] - 1) / k.
Tensor sparsemax(const Tensor& x, int axis = -1);

struct CeluDescriptor {
  double alpha = 1.0;
};
struct ThresholdDescriptor {
  double threshold = 0.5;
  double default_value = 0.0;
};
struct SquareplusDescriptor {
  double b = 4.0;
};
extern const OpDef kCelu, kHardTanh, kTanhShrink, kSoftShrink, kHardShrink, kThreshold, kSquareplus,
    kSparsePlus, kSparseSigmoid;
/// (x, gradient) -> gradient of x.
extern const OpDef kCeluGradient, kHardTanhGradient, kTanhShrinkGradient, kSoftShrinkGradient,
    kHardShrinkGradient, kThresholdGradient, kSquareplusGradient, kSparsePlusGradient, kSparseSigmoidGradient;

/// Along the last axis; the gradient's inputs are (x, gradient).
extern const OpDef kSparsemax, kSparsemaxGradient;

}  // namespace nyala::ops
