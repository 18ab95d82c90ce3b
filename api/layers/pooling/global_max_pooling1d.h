#pragma once

#include <nyala/api/layers/pooling/global_pooling_config.h>

namespace nyala {

/// The largest value of each channel. Input (batch, steps, channels), output (batch, channels), or (batch, 1,
/// channels) with keepdims.
class GlobalMaxPooling1D : public Layer {
 public:
  using Config = GlobalPoolingConfig;
  explicit GlobalMaxPooling1D(const Config& config = {});
  template <size_t N>
  explicit GlobalMaxPooling1D(const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala
