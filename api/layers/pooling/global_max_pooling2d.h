#pragma once

#include <nyala/api/layers/pooling/global_pooling_config.h>

namespace nyala {

/// The largest value of each channel. Input (batch, height, width, channels), output (batch, channels), or
/// (batch, 1, 1, channels) with keepdims.
class GlobalMaxPooling2D : public Layer {
 public:
  using Config = GlobalPoolingConfig;
  explicit GlobalMaxPooling2D(const Config& config = {});
  template <size_t N>
  explicit GlobalMaxPooling2D(const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala
