#pragma once

#include <nyala/api/layers/pooling/global_pooling_config.h>

namespace nyala {

/// The mean of each channel. Input (batch, depth, height, width, channels), output (batch, channels), or
/// (batch, 1, 1, 1, channels) with keepdims.
class GlobalAveragePooling3D : public Layer {
 public:
  using Config = GlobalPoolingConfig;
  explicit GlobalAveragePooling3D(const Config& config = {});
  template <size_t N>
  explicit GlobalAveragePooling3D(const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala
