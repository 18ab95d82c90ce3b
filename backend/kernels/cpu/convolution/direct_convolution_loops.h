#pragma once

#include <cstdint>

namespace nyala {

/// Convolution of one NHWC float32 image without packing it, for one kind of CPU: the taps of a kernel row
/// that lie side by side in the image are one run of floats. Dilation and groups are 1; padding is already
/// part of the image.
struct DirectConvolutionLoops {
  struct Shape {
    int64_t rows, row;  // of the image: how many, floats of each
    int64_t channels, filters;
    int64_t kernel_height, kernel_width;
    int64_t packed_run;  // kernel_width * channels, up to a multiple of 16
    int64_t stride_y, stride_x;
    int64_t out_height, out_width;

    int64_t run() const { return kernel_width * channels; }
  };
  enum class Activation : uint8_t { linear, relu, sigmoid, tanh };

  /// y = activation(x * kernel + bias); kernel (kernel_height, run, filters) as the op has it, bias may be
  /// null.
  void (*forward)(const Shape& shape, const float* x, const float* kernel, const float* bias,
                  Activation activation, float* y);
  /// dx is written whole; packed (kernel_height, filters, packed_run) with zeros behind each run; `columns`
  /// is scratch of rows * out_width * packed_run floats.
  void (*backward_input)(const Shape& shape, const float* dz, const float* packed, float* columns, float* dx);
  /// sums += ...; sums (kernel_height, filters, packed_run).
  void (*backward_kernel)(const Shape& shape, const float* x, const float* dz, float* sums);
  /// y (count) = the product of each row of a matrix (count, length) with x.
  struct Rows {
    const float* data;
    int64_t count, length;
  };
  void (*multiply_rows)(const Rows& rows, const float* x, float* y);
};

/// The loops for vectors of 32 (AVX2 with FMA) and 64 bytes (AVX-512 F, BW, DQ, VL). Call only what
/// cpu_level() offers.
const DirectConvolutionLoops& direct_convolution_loops_avx2();
const DirectConvolutionLoops& direct_convolution_loops_avx512();

}  // namespace nyala
