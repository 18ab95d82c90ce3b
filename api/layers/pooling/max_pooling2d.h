#pragma once

#include <nyala/api/layers/pooling/pooling_config.h>

namespace nyala {

/// The largest value of each window, channel by channel; padding never wins.
/// Input (batch, height, width, channels).
class MaxPooling2D : public Layer {
 public:
  using Config = MaxPooling2DConfig;
  /// Throws InvalidArgumentError unless all sizes are above 0.
  explicit MaxPooling2D(const Config& config = {});
  explicit MaxPooling2D(Size2D pool_size, Config config = {});
};

}  // namespace nyala
