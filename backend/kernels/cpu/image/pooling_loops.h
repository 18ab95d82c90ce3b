#pragma once

#include <cstdint>

namespace nyala {

/// Pooling of NHWC float32 images for one kind of CPU. Padding never counts.
struct PoolingLoops {
  struct Shape {
    int64_t height, width, channels, out_height, out_width;
    int64_t pool_height, pool_width, stride_height, stride_width, pad_top, pad_left;

    /// No pixel of x belongs to two windows.
    bool apart() const { return stride_height >= pool_height && stride_width >= pool_width; }
    /// Every pixel of x belongs to a window.
    bool covered() const {
      return stride_height == pool_height && stride_width == pool_width && pad_top == 0 && pad_left == 0 &&
             out_height * stride_height == height && out_width * stride_width == width;
    }
  };

  /// Row `oy` of one image: x is the image, y the row.
  using Row = void (*)(const Shape& shape, const float* x, int64_t oy, float* y);
  Row max_row, average_row;

  /// One image: dx is written whole. The first of equal largest values gets the gradient.
  void (*max_backward)(const Shape& shape, const float* dy, const float* x, float* dx);
  void (*average_backward)(const Shape& shape, const float* dy, float* dx);
};

/// The loops for vectors of 32 (AVX2 with FMA) and 64 bytes (AVX-512 F, BW, DQ, VL). Call only what
/// cpu_level() offers.
const PoolingLoops& pooling_loops_avx2();
const PoolingLoops& pooling_loops_avx512();

}  // namespace nyala
