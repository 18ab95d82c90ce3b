#pragma once

#include <nyala/api/layers/layer.h>

namespace nyala {

struct GlobalAveragePooling2DConfig {
  std::string data_format = {};  // "channels_last"
  bool keepdims = false;
  std::string name = {};
  bool trainable = true;
  std::string dtype = "float32";

  void fields(FieldVisitor& v);
};

/// The mean of each channel. Input (batch, height, width, channels), output (batch, channels), or
/// (batch, 1, 1, channels) with keepdims.
class GlobalAveragePooling2D : public Layer {
 public:
  using Config = GlobalAveragePooling2DConfig;
  explicit GlobalAveragePooling2D(const Config& config = {});
};

}  // namespace nyala
