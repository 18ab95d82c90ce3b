#pragma once

#include <cstdint>

namespace nyala {

/// Loops over rows of channels as one flat run: whatever belongs to channels is repeated up to a `period`, a
/// multiple of the channels and of 16 floats, so that few channels fill whole vectors. `count` floats are
/// read from the start of a row; sums are `period` floats, set by the loop, to be folded over the channels by
/// the caller.
struct PeriodicLoops {
  struct Run {
    int64_t count;
    int64_t period;
  };
  /// Longest period the loops take.
  static constexpr int64_t kMaxPeriod = 4096;

  void (*sums)(Run run, const float* x, float* sums);
  /// Sums of (x - mean)^2.
  void (*square_sums)(Run run, const float* x, const float* mean, float* sums);

  /// y = x * scale + offset, perhaps with relu or relu6.
  using Affine = void (*)(Run run, const float* x, const float* scale, const float* offset, float* y);
  Affine affine, affine_relu, affine_relu6;

  /// What the gradients of batch normalization read; scale and offset tell where the relu was open.
  struct Gradient {
    const float *dy, *x, *scale, *offset, *mean;
  };
  /// Sums of g and of g * (x - mean), where g is dy, or 0 where the relu was shut.
  using GradientSums = void (*)(Run run, const Gradient& in, float* sums, float* products);
  GradientSums gradient_sums, gradient_sums_relu, gradient_sums_relu6;

  /// dx = scale * g + by_x * x + constant.
  using GradientInput = void (*)(Run run, const Gradient& in, const float* by_x, const float* constant,
                                 float* dx);
  GradientInput gradient_input, gradient_input_relu, gradient_input_relu6;

  /// dz = dy * f'(y), and the sums of dz.
  using ActivationBackward = void (*)(Run run, const float* dy, const float* y, float* dz, float* sums);
  ActivationBackward relu_backward, sigmoid_backward, tanh_backward, relu6_backward;
};

/// The loops for vectors of 32 (AVX2 with FMA) and 64 bytes (AVX-512 F, BW, DQ, VL). Call only what
/// cpu_level() offers.
const PeriodicLoops& periodic_loops_avx2();
const PeriodicLoops& periodic_loops_avx512();

}  // namespace nyala
