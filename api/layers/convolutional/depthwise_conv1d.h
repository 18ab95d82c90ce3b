#pragma once

#include <nyala/api/layers/convolutional/depthwise_conv_config.h>

namespace nyala {

/// DepthwiseConv2D of sequences: input (batch, steps, channels), kernel (size, channels, depth_multiplier).
class DepthwiseConv1D : public Layer {
 public:
  using Config = DepthwiseConv1DConfig;
  /// Throws as DepthwiseConv2D.
  explicit DepthwiseConv1D(const Config& config);
  explicit DepthwiseConv1D(Size1D kernel_size, Config config = {});
};

}  // namespace nyala
