#pragma once

#include <cstdint>

namespace nyala {

/// Loops over one row of `n` float32 scores for one kind of CPU.
struct SoftmaxLoops {
  /// The largest score and the sum of exp(x - largest).
  struct Total {
    float largest, sum;
  };
  Total (*total)(const float* x, int64_t n);
  /// y = scale * exp(x - offset).
  void (*scaled_exp)(const float* x, int64_t n, float offset, float scale, float* y);
  /// y = x - offset.
  void (*shift)(const float* x, int64_t n, float offset, float* y);
  /// dx = y * (g - sum of g * y).
  void (*softmax_backward)(const float* g, const float* y, int64_t n, float* dx);
  /// dx = g - exp(y) * sum of g.
  void (*log_softmax_backward)(const float* g, const float* y, int64_t n, float* dx);
};

/// The loops for vectors of 32 (AVX2 with FMA) and 64 bytes (AVX-512 F, BW, DQ, VL). Call only what
/// cpu_level() offers.
const SoftmaxLoops& softmax_loops_avx2();
const SoftmaxLoops& softmax_loops_avx512();

}  // namespace nyala
