#pragma once

#include <nyala/api/layers/convolutional/separable_conv_config.h>

namespace nyala {

/// SeparableConv2D of sequences: weights depthwise_kernel (size, in, depth_multiplier) and pointwise_kernel
/// (1, in * depth_multiplier, filters).
class SeparableConv1D : public Layer {
 public:
  using Config = SeparableConv1DConfig;
  /// Throws as SeparableConv2D.
  explicit SeparableConv1D(const Config& config);
  template <size_t N>
  explicit SeparableConv1D(const NoSuchField (&)[N]) = delete;
  SeparableConv1D(int64_t filters, Size1D kernel_size, Config config = {});
  template <size_t N>
  SeparableConv1D(int64_t, Size1D, const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala
