#pragma once

#include <cstdint>

namespace nyala {

/// The depthwise convolution of NHWC float32 images and its gradients, row by row, for one kind of CPU: each
/// channel has one kernel of its own, kernel (kernel_height, kernel_width, channels) of 3 or 5 columns, with
/// 1 or 2 as the stride of the columns and no dilation. Padding is left out, not read; windows leave the
/// image by at most kernel_width / 2 columns on either side.
struct NarrowDepthwiseLoops {
  struct Shape {
    int64_t height, width, channels;
    int64_t kernel_height, kernel_width;
    int64_t out_height, out_width;
    int64_t stride_y, stride_x;
    int64_t pad_top, pad_left;
  };
  enum class Activation : uint8_t { linear, relu, relu6 };

  /// Row `oy` of activation(x * kernel + bias) of one image; bias may be null.
  void (*forward_row)(const Shape& shape, const float* x, const float* kernel, const float* bias,
                      Activation activation, int64_t oy, float* row);
  /// Row `iy` of the gradient of one image, written whole. dz: the gradient of the image's result.
  void (*backward_input_row)(const Shape& shape, const float* dz, const float* kernel, int64_t iy,
                             float* row);
  /// sums (kernel_height, kernel_width, channels) += what rows [oy, end) of the result of one image give.
  /// dz: the gradient of the image's result; few rows at a time stay in the cache.
  void (*backward_kernel_rows)(const Shape& shape, const float* x, const float* dz, int64_t oy, int64_t end,
                               float* sums);
};

/// The loops for vectors of 32 (AVX2 with FMA) and 64 bytes (AVX-512 F, BW, DQ, VL). Call only what
/// cpu_level() offers.
const NarrowDepthwiseLoops& narrow_depthwise_loops_avx2();
const NarrowDepthwiseLoops& narrow_depthwise_loops_avx512();

}  // namespace nyala
