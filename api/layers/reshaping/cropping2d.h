#pragma once

#include <nyala/api/base/names_required.h>
#include <nyala/api/layers/base/edge_sizes.h>
#include <nyala/api/layers/base/layer.h>

namespace nyala {

struct Cropping2DConfig {
  NamesRequired names_required = NamesRequired();
  EdgeSizes<2> cropping = 0;
  std::string data_format = {};  // "channels_last", or "channels_first"
  std::string name = {};
  bool trainable = true;
  std::string dtype = "float32";

  void fields(FieldVisitor& v);
};

/// Leaves out rows and columns at the edges of an image. Input (batch, height, width, channels).
class Cropping2D : public Layer {
 public:
  using Config = Cropping2DConfig;
  /// Throws InvalidArgumentError for a negative size; building throws ShapeError where nothing would be
  /// left.
  explicit Cropping2D(const Config& config = {});
  explicit Cropping2D(EdgeSizes<2> cropping, Config config = {});
};

}  // namespace nyala
