#pragma once

#include <nyala/api/base/names_required.h>
#include <nyala/api/layers/base/edge_sizes.h>
#include <nyala/api/layers/base/layer.h>

namespace nyala {

struct Cropping3DConfig {
  NamesRequired names_required = NamesRequired();
  EdgeSizes<3> cropping = 1;
  std::string data_format = {};  // "channels_last", or "channels_first"
  std::string name = {};
  bool trainable = true;
  std::string dtype = "float32";

  void fields(FieldVisitor& v);
};

/// Leaves out planes at the faces of a volume. Input (batch, depth, height, width, channels).
class Cropping3D : public Layer {
 public:
  using Config = Cropping3DConfig;
  /// Throws InvalidArgumentError for a negative size; building throws ShapeError where nothing would be
  /// left.
  explicit Cropping3D(const Config& config = {});
  explicit Cropping3D(EdgeSizes<3> cropping, Config config = {});
};

}  // namespace nyala
