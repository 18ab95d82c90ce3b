#pragma once

#include <nyala/api/layers/layer.h>
#include <nyala/api/layers/names_required.h>
#include <nyala/api/layers/size2d.h>

namespace nyala {

struct MaxPooling2DConfig {
  NamesRequired names_required = NamesRequired();
  Size2D pool_size = 2;
  Size2D strides = Size2D::none();  // not given: pool_size
  std::string padding = "valid";    // or "same"
  std::string data_format = {};     // "channels_last"
  std::string name = {};
  bool trainable = true;
  std::string dtype = "float32";

  void fields(FieldVisitor& v);
};

/// The largest value of each window, channel by channel; padding never wins.
/// Input (batch, height, width, channels).
class MaxPooling2D : public Layer {
 public:
  using Config = MaxPooling2DConfig;
  /// Throws InvalidArgumentError unless all sizes are above 0.
  explicit MaxPooling2D(const Config& config = {});
  explicit MaxPooling2D(Size2D pool_size, Config config = {});
};

}  // namespace nyala
