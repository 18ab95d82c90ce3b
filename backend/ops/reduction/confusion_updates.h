#pragma once

#include <array>

#include <nyala/backend/core/op.h>

namespace nyala::ops {

// What one batch adds to the sums of metrics that count right and wrong predictions: float64 on the device,
// in one pass, not differentiable. Weights as in metric_updates.h. Throw ShapeError where shapes do not fit.

/// Which predictions count as positive: y_pred > threshold, as float32, for each threshold.
struct ConfusionDescriptor {
  static constexpr size_t kMaxThresholds = 24;
  std::array<float, kMaxThresholds> thresholds{};
  int32_t num_thresholds = 1;
  int32_t top_k = 0;      // 0: all; else others than the k largest of the last axis count as not predicted
  int32_t class_id = -1;  // -1: all; else only this index of the last axis counts
  bool by_label = false;  // counts for each index of the last axis apart
  /// Instead of `thresholds` (any number, at least 2): i / (num_thresholds - 1), with y_pred clipped to [0,
  /// 1].
  bool even = false;
  bool open_ends = false;  // of even thresholds: the first is a little below 0, the last a little above 1
};

/// Counts per threshold and label.
inline constexpr int64_t kConfusionCounts = 4;
/// (num_thresholds * labels * 4): for each threshold, for each label (one, unless by_label), the true
/// positives, false positives, true negatives and false negatives by weight. y_true != 0 is positive. y_true
/// and y_pred have one shape.
Tensor confusion_update(const Tensor& y_true, const Tensor& y_pred, const Tensor& weights,
                        const ConfusionDescriptor& descriptor);

struct ClassPairsDescriptor {
  int64_t num_classes = 0;
  int64_t ignore_class = -1;  // -1: none
};
/// (num_classes * num_classes): at [y_true][y_pred] the weights of these pairs of class numbers, fractions
/// cut off. Pairs with a number outside [0, num_classes) or with y_true == ignore_class do not count. The
/// shapes are equal.
Tensor class_pairs_update(const Tensor& y_true, const Tensor& y_pred, const Tensor& weights,
                          const ClassPairsDescriptor& descriptor);

/// Inputs as above, weights (float64) only where there are any; y_pred of a floating dtype.
extern const OpDef kConfusionUpdate, kClassPairsUpdate;

}  // namespace nyala::ops
