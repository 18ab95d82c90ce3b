#pragma once

#include <nyala/api/layers/base/layer.h>

namespace nyala {

/// Of the layers that pool all that lies between batch and channels.
struct GlobalPoolingConfig {
  std::string data_format = {};  // "channels_last", or "channels_first"
  bool keepdims = false;
  std::string name = {};
  bool trainable = true;
  std::string dtype = "float32";

  void fields(FieldVisitor& v);
};

}  // namespace nyala
