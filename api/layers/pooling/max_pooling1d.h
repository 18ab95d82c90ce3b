#pragma once

#include <nyala/api/layers/pooling/pooling_config.h>

namespace nyala {

/// The largest value of each window, channel by channel; padding never wins.
/// Input (batch, steps, channels).
class MaxPooling1D : public Layer {
 public:
  using Config = MaxPooling1DConfig;
  /// Throws InvalidArgumentError unless all sizes are above 0.
  explicit MaxPooling1D(const Config& config = {});
  explicit MaxPooling1D(Size1D pool_size, Config config = {});
};

}  // namespace nyala
