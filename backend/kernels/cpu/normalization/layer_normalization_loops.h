#pragma once

#include <cstdint>

namespace nyala {

/// Loops over `rows` rows of `n` float32 values each for one kind of CPU.
struct LayerNormalizationLoops {
  struct Forward {
    const float* x;
    const float *gamma, *beta;  // n values, or null
    float *y, *statistics;      // statistics: (mean, 1 / deviation) per row
    int64_t rows, n;
    double epsilon;
    bool centered;
  };
  void (*forward)(const Forward& run);

  struct Backward {
    const float *gradient, *x, *statistics;
    const float* gamma;  // or null
    float* dx;
    float* sums;  // (2, n), overwritten: the sums of gradient and of gradient * x-hat; or null
    int64_t rows, n;
    bool centered;
  };
  void (*backward)(const Backward& run);
};

/// The loops for vectors of 32 (AVX2 with FMA) and 64 bytes (AVX-512 F, BW, DQ, VL). Call only what
/// cpu_level() offers.
const LayerNormalizationLoops& layer_normalization_loops_avx2();
const LayerNormalizationLoops& layer_normalization_loops_avx512();

}  // namespace nyala
