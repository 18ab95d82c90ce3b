#pragma once

#include <cstdint>

namespace nyala {

/// The gradients of the depthwise convolution of NHWC float32 images, row by row, for one kind of CPU: each
/// channel has one kernel of its own, kernel (kernel_height, kernel_width, channels). Padding is left out,
/// not read.
struct DepthwiseLoops {
  /// Two axes: rows, columns.
  struct Axis {
    int64_t size, kernel, out_size, stride, dilation, pad;
  };
  struct Shape {
    Axis y, x;
    int64_t channels;
  };
  static constexpr int64_t kMaxKernel = 16;  // columns

  /// Row `iy` of the gradient of one image, written whole. dz: the gradient of the image's result.
  void (*backward_input_row)(const Shape& shape, const float* dz, const float* kernel, int64_t iy,
                             float* row);
  /// sums (kernel_height, kernel_width, channels) += what row `oy` of the result gives. x: the image; row:
  /// that row's gradient.
  void (*backward_kernel_row)(const Shape& shape, const float* x, const float* row, int64_t oy, float* sums);
};

/// The loops for vectors of 32 (AVX2 with FMA) and 64 bytes (AVX-512 F, BW, DQ, VL). Call only what
/// cpu_level() offers.
const DepthwiseLoops& depthwise_loops_avx2();
const DepthwiseLoops& depthwise_loops_avx512();

}  // namespace nyala
