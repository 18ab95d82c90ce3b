#pragma once

#include <nyala/api/layers/convolutional/conv_transpose_config.h>

namespace nyala {

/// The transposed convolution ("deconvolution"), which makes images larger by its strides: every pixel adds
/// its multiple of the kernel to the output; then bias and activation. Input (batch, height, width, in),
/// kernel (rows, columns, filters, in). An axis of n elements becomes, with the dilated kernel's size k,
/// "same": n * stride, or where output_padding is given (n - 1) * stride + k % 2 + output_padding;
/// "valid": (n - 1) * stride + k + output_padding, where not given max(stride - k, 0).
class Conv2DTranspose : public Layer {
 public:
  using Config = Conv2DTransposeConfig;
  /// Throws InvalidArgumentError unless filters, kernel_size, strides and dilation_rate are above 0,
  /// output_padding is below strides, and strides or dilation_rate is 1.
  explicit Conv2DTranspose(const Config& config);
  template <size_t N>
  explicit Conv2DTranspose(const NoSuchField (&)[N]) = delete;
  Conv2DTranspose(int64_t filters, Size2D kernel_size, Config config = {});
  template <size_t N>
  Conv2DTranspose(int64_t, Size2D, const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala
