#pragma once

#include <nyala/backend/core/op.h>

namespace nyala::ops {

struct LayerNormalizationOptions {
  double epsilon = 1e-3;
  int axes = 1;  // how many of the last axes are normalised together, at least 1
};

/// gamma * (x - mean) / sqrt(variance + epsilon) + beta (Ba et al. 2016), with mean and variance (divided by
/// the number of values) over the last `axes` axes for each entry of the others. gamma and beta have the
/// shape of those axes and may be undefined: 1 and 0. They have the dtype of x, or are float32 beside 16-bit
/// x. Throws ShapeError where they do not fit, DTypeError for integers.
Tensor layer_normalization(const Tensor& x, const Tensor& gamma, const Tensor& beta,
                           const LayerNormalizationOptions& options = {});

/// scale * x / sqrt(mean(x^2) + epsilon) (Zhang and Sennrich 2019); `scale` may be undefined.
Tensor rms_normalization(const Tensor& x, const Tensor& scale,
                         const LayerNormalizationOptions& options = {.epsilon = 1e-6});

struct LayerNormalizationDescriptor {
  double epsilon = 1e-3;
  int32_t axes = 1;
  bool centered = true;  // false: RMS, the mean counts as 0
  bool has_gamma = false;
  bool has_beta = false;
};
/// (x[, gamma][, beta]) -> y, and per row (mean, 1 / deviation), shape x.shape[:-axes] + (2,), float32 for
/// 16-bit floats, as are the sums of the gradient.
extern const OpDef kLayerNormalization;
/// (gradient, x, statistics[, gamma]) -> the gradient of x, and (2, n): the sums over rows of the gradient
/// and of gradient * x-hat, n = 0 where neither gamma nor beta is there.
extern const OpDef kLayerNormalizationBackward;

/// A call seen as rows of n values each.
struct LayerNormalizationRows {
  int64_t rows = 0, n = 0;
  LayerNormalizationRows(const Shape& x, int axes);
};

}  // namespace nyala::ops
