#pragma once

#include <cstdint>

namespace nyala {

/// Convolution of one image with a single channel, stride 1, no dilation, for one kind of CPU. Lanes are
/// (pixel, filter) pairs as they lie in y, so that few filters fill whole vectors; padding is already part of
/// the image.
struct SingleChannelLoops {
  struct Shape {
    int64_t row;                                   // floats of an image row
    int64_t kernel_height, kernel_width, filters;  // kernel_height: at most kMaxHeight
    int64_t out_height, out_width;
    int64_t period;  // least multiple of the filters and of `lanes`: at most kMaxVectors vectors
  };
  static constexpr int kMaxVectors = 5;
  static constexpr int kMaxHeight = 5;
  enum class Activation : uint8_t { linear, relu, sigmoid, tanh };

  int64_t lanes;           // floats of a vector
  int64_t most_vectors;    // of a period; with more other kernels are faster
  bool for_whole_vectors;  // whether this one is faster where filters fill vectors, too
  /// kernel (kernel_height, kernel_width, period) and bias (period): filters repeated over the period.
  void (*forward)(const Shape& shape, const float* x, const float* kernel, const float* bias,
                  Activation activation, float* y);
};

/// The loops for vectors of 32 (AVX2 with FMA) and 64 bytes (AVX-512 F, BW, DQ, VL). Call only what
/// cpu_level() offers.
const SingleChannelLoops& single_channel_loops_avx2();
const SingleChannelLoops& single_channel_loops_avx512();

}  // namespace nyala
