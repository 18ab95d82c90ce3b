#pragma once

#include <nyala/api/layers/pooling/global_pooling_config.h>

namespace nyala {

/// The mean of each channel. Input (batch, height, width, channels), output (batch, channels), or (batch, 1,
/// 1, channels) with keepdims.
class GlobalAveragePooling2D : public Layer {
 public:
  using Config = GlobalPoolingConfig;
  explicit GlobalAveragePooling2D(const Config& config = {});
  template <size_t N>
  explicit GlobalAveragePooling2D(const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala
