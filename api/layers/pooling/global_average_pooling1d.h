#pragma once

#include <nyala/api/layers/pooling/global_pooling_config.h>

namespace nyala {

/// The mean of each channel. Input (batch, steps, channels), output (batch, channels), or (batch, 1,
/// channels) with keepdims.
/// Steps that a mask (batch, steps) leaves out do not count; a row without any gives NaN.
class GlobalAveragePooling1D : public Layer {
 public:
  using Config = GlobalPoolingConfig;
  explicit GlobalAveragePooling1D(const Config& config = {});
  template <size_t N>
  explicit GlobalAveragePooling1D(const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala
