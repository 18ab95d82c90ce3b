#pragma once

#include <optional>

#include <nyala/backend/ops/elementwise/fused_activation.h>

namespace nyala {
class Collectives;
}

namespace nyala::ops {

// Channels are the last axis everywhere; a layer with another axis transposes. C is their number.

/// From so many products for each value of x on, y is made again in backward unless the options say
/// otherwise.
inline constexpr int64_t kCheapRecompute = 256;

struct BatchNormalizationOptions {
  double epsilon = 1e-3;
  Activation activation = Activation::linear;  // linear, relu or relu6, applied in the same pass
  /// True: the tape keeps no output for the ops behind, backward makes it again from x, with the same bits.
  /// False: it is kept. None: it is made again where that is little beside what made x, a convolution or
  /// dense op with kCheapRecompute products or more for each value.
  std::optional<bool> recompute = {};
  /// The replicas whose rows are normalised together; null (or one replica): these rows alone. Must outlive
  /// the tape.
  Collectives* replica = nullptr;
};

struct BatchNormalizationResult {
  Tensor y;
  Tensor mean;      // (C), of the global batch
  Tensor variance;  // (C), of the global batch, divided by the number of values (biased)
};

namespace detail {

/// activation(gamma * (x - mean) / sqrt(variance + epsilon) + beta) with the statistics of the batch. gamma
/// and beta (C) may be undefined: 1 and 0. x has at least 2 axes and may have no rows: the collectives still
/// take part. With no rows anywhere mean and variance are 0. Gradients flow to x, gamma and beta; the
/// gradients of gamma and beta are those of the local rows, so that summing over replicas gives the whole.
/// mean and variance are not tracked. For 16-bit x they are float32, as gamma and beta may be.
BatchNormalizationResult batch_normalization_train(const Tensor& x, const Tensor& gamma, const Tensor& beta,
                                                   const BatchNormalizationOptions& options = {});

}  // namespace detail

/// The statistics of batch_normalization_apply; gamma and beta may be undefined.
struct BatchNormalizationParameters {
  Tensor mean, variance, gamma, beta;
};

/// The same formula with given mean and variance (C), which get no gradient: inference, or frozen statistics.
Tensor batch_normalization_apply(const Tensor& x, const BatchNormalizationParameters& parameters,
                                 const BatchNormalizationOptions& options = {});

/// (1 + 2C): the number of rows (all axes but the last count as rows), the mean of each channel, and the sum
/// of squared distances from it (M2). Exact for large means: never from sums of squares. Not differentiable.
Tensor batch_moments(const Tensor& x);

/// Moments of the union of R disjoint batches: (R, 1 + 2C) -> (1 + 2C), merged in order (Chan et al. 1979).
/// Rows with count 0 change nothing.
Tensor merge_moments(const Tensor& stack);

struct BatchNormalizationDescriptor {
  double epsilon = 1e-3;
  Collectives* replica = nullptr;
  Activation activation = Activation::linear;
  bool has_gamma = false;
  bool has_beta = false;
};
struct MergeMomentsDescriptor {
  bool variance = false;  // the last C values become M2 / count (0 for count 0)
};

// Moments, statistics and sums of 16-bit floats are float32.

/// x -> moments.
extern const OpDef kBatchMoments;
/// stack -> moments, or statistics (count, mean, variance).
extern const OpDef kMergeMoments;
/// (x, statistics[, gamma][, beta]) -> y.
extern const OpDef kBatchNormalizationForward;
/// (gradient, x, statistics[, gamma][, beta]) -> (2, C): sums over rows of g and of g * x-hat, where g is the
/// gradient behind the activation.
extern const OpDef kBatchNormalizationSums;
/// (gradient, x, statistics, sums of all rows[, gamma][, beta]) -> the gradient of x.
extern const OpDef kBatchNormalizationBackward;
/// What the tape records of a training call, made of the ops above; has no kernel of its own.
extern const OpDef kBatchNormalizationTrain;
/// (x, mean, variance[, gamma][, beta]) -> y.
extern const OpDef kBatchNormalizationApply;

}  // namespace nyala::ops
