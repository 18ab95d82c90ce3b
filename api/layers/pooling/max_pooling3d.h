#pragma once

#include <nyala/api/layers/pooling/pooling_config.h>

namespace nyala {

/// The largest value of each window, channel by channel; padding never wins.
/// Input (batch, depth, height, width, channels).
class MaxPooling3D : public Layer {
 public:
  using Config = MaxPooling3DConfig;
  /// Throws InvalidArgumentError unless all sizes are above 0.
  explicit MaxPooling3D(const Config& config = {});
  explicit MaxPooling3D(Size3D pool_size, Config config = {});
};

}  // namespace nyala
