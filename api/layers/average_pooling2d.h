#pragma once

#include <nyala/api/layers/layer.h>
#include <nyala/api/layers/names_required.h>
#include <nyala/api/layers/size2d.h>

namespace nyala {

struct AveragePooling2DConfig {
  NamesRequired names_required = NamesRequired();
  Size2D pool_size = Size2D::none();
  Size2D strides = Size2D::none();  // not given: pool_size
  std::string padding = "valid";    // or "same"
  std::string data_format = {};     // "channels_last"
  std::string name = {};
  bool trainable = true;
  std::string dtype = "float32";

  void fields(FieldVisitor& v);
};

/// The mean of each window, channel by channel; padding does not count.
/// Input (batch, height, width, channels).
class AveragePooling2D : public Layer {
 public:
  using Config = AveragePooling2DConfig;
  /// Throws InvalidArgumentError unless all sizes are above 0.
  explicit AveragePooling2D(const Config& config);
  explicit AveragePooling2D(Size2D pool_size, Config config = {});
};

}  // namespace nyala
