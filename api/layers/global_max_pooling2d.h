#pragma once

#include <nyala/api/layers/layer.h>

namespace nyala {

struct GlobalMaxPooling2DConfig {
  std::string data_format = {};  // "channels_last"
  bool keepdims = false;
  std::string name = {};
  bool trainable = true;
  std::string dtype = "float32";

  void fields(FieldVisitor& v);
};

/// The largest value of each channel. Input (batch, height, width, channels), output (batch, channels), or
/// (batch, 1, 1, channels) with keepdims.
class GlobalMaxPooling2D : public Layer {
 public:
  using Config = GlobalMaxPooling2DConfig;
  explicit GlobalMaxPooling2D(const Config& config = {});
};

}  // namespace nyala
