#pragma once

#include <nyala/backend/core/op.h>

namespace nyala::ops {

/// What one batch adds to a metric's sums: float64 on the device, in one pass, not differentiable. Values are
/// added in their order. `weights` may be undefined; its shape is the beginning of that of the values, each
/// weight belongs to all values behind it. Throw ShapeError where shapes do not fit.

/// Of values (n, ...): (2), the sum over samples of weight * (mean over the sample's values), and the sum of
/// weights or the number of samples.
Tensor mean_update(const Tensor& values, const Tensor& weights = {});
/// (1): the sum of all values, each by its weight.
Tensor sum_update(const Tensor& values, const Tensor& weights = {});

/// mean_update of y_true == y_pred, in y_pred's dtype. The shapes are equal.
Tensor match_update(const Tensor& y_true, const Tensor& y_pred, const Tensor& weights = {});
/// mean_update of y_true == (y_pred > threshold), with the threshold as float32.
Tensor match_update(const Tensor& y_true, const Tensor& y_pred, const Tensor& weights, double threshold);

/// mean_update of hits: labels (...) or (..., 1), scores (..., classes). For k = 0 a hit is a label that is
/// the first largest score; else one with less than k larger scores (none is where a score or the label's is
/// not finite or the label is out of range).
Tensor label_hits_update(const Tensor& labels, const Tensor& scores, const Tensor& weights = {},
                         int64_t k = 0);

struct MeanUpdateDescriptor {
  bool sum = false;
};
struct MatchDescriptor {
  bool thresholded = false;
  float threshold = 0.5f;
};
struct LabelHitsDescriptor {
  int64_t k = 0;
};
/// Inputs as above, weights (float64) only where there are any; y_pred and scores of a floating dtype.
extern const OpDef kMeanUpdate, kMatchUpdate, kLabelHitsUpdate;

}  // namespace nyala::ops
