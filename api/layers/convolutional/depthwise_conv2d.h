#pragma once

#include <nyala/api/layers/convolutional/depthwise_conv_config.h>

namespace nyala {

/// Convolves every channel by itself with depth_multiplier kernels of its own; then bias and activation.
/// Input (batch, height, width, channels), kernel (rows, columns, channels, depth_multiplier), output (batch,
/// out height, out width, channels * depth_multiplier), those of one channel side by side.
class DepthwiseConv2D : public Layer {
 public:
  using Config = DepthwiseConv2DConfig;
  /// Throws InvalidArgumentError unless kernel_size, strides, dilation_rate and depth_multiplier are above 0.
  explicit DepthwiseConv2D(const Config& config);
  explicit DepthwiseConv2D(Size2D kernel_size, Config config = {});
};

}  // namespace nyala
