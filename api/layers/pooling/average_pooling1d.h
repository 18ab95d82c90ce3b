#pragma once

#include <nyala/api/layers/pooling/pooling_config.h>

namespace nyala {

/// The mean of each window, channel by channel; padding does not count.
/// Input (batch, steps, channels).
class AveragePooling1D : public Layer {
 public:
  using Config = AveragePooling1DConfig;
  /// Throws InvalidArgumentError unless all sizes are above 0.
  explicit AveragePooling1D(const Config& config);
  explicit AveragePooling1D(Size1D pool_size, Config config = {});
};

}  // namespace nyala
