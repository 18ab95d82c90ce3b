#pragma once

#include <nyala/api/layers/convolutional/separable_conv_config.h>

namespace nyala {

/// A depthwise convolution (as DepthwiseConv2D, without bias and activation), whose channels a 1x1
/// convolution mixes; then bias and activation. Weights depthwise_kernel (rows, columns, in,
/// depth_multiplier) and pointwise_kernel (1, 1, in * depth_multiplier, filters).
class SeparableConv2D : public Layer {
 public:
  using Config = SeparableConv2DConfig;
  /// Throws InvalidArgumentError unless filters, kernel_size, strides, dilation_rate and depth_multiplier are
  /// above 0.
  explicit SeparableConv2D(const Config& config);
  template <size_t N>
  explicit SeparableConv2D(const NoSuchField (&)[N]) = delete;
  SeparableConv2D(int64_t filters, Size2D kernel_size, Config config = {});
  template <size_t N>
  SeparableConv2D(int64_t, Size2D, const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala
