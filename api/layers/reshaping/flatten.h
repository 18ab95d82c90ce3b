#pragma once

#include <nyala/api/layers/base/layer.h>

namespace nyala {

struct FlattenConfig {
  std::string data_format = {};  // "channels_last"; "channels_first": (batch, channels, ...)
  std::string name = {};
  bool trainable = true;
  std::string dtype = {};

  void fields(FieldVisitor& v);
};

/// All axes but the batch as one, row-major: (batch, 2, 3) -> (batch, 6); (batch) -> (batch, 1). With
/// data_format = "channels_first" axis 1 becomes the last before, as in Keras.
class Flatten : public Layer {
 public:
  using Config = FlattenConfig;
  explicit Flatten(const Config& config = {});
  template <size_t N>
  explicit Flatten(const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala
