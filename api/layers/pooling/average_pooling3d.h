#pragma once

#include <nyala/api/layers/pooling/pooling_config.h>

namespace nyala {

/// The mean of each window, channel by channel; padding does not count.
/// Input (batch, depth, height, width, channels).
class AveragePooling3D : public Layer {
 public:
  using Config = AveragePooling3DConfig;
  /// Throws InvalidArgumentError unless all sizes are above 0.
  explicit AveragePooling3D(const Config& config);
  explicit AveragePooling3D(Size3D pool_size, Config config = {});
};

}  // namespace nyala
