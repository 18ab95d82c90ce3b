#pragma once

#include <nyala/api/layers/pooling/pooling_config.h>

namespace nyala {

/// The mean of each window, channel by channel; padding does not count.
/// Input (batch, height, width, channels).
class AveragePooling2D : public Layer {
 public:
  using Config = AveragePooling2DConfig;
  /// Throws InvalidArgumentError unless all sizes are above 0.
  explicit AveragePooling2D(const Config& config);
  explicit AveragePooling2D(Size2D pool_size, Config config = {});
};

}  // namespace nyala
