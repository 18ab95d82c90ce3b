#pragma once

#include <nyala/api/base/names_required.h>
#include <nyala/api/layers/base/layer.h>
#include <nyala/api/layers/base/size.h>

namespace nyala {

struct UpSampling3DConfig {
  NamesRequired names_required = NamesRequired();
  Size3D size = 2;
  std::string data_format = {};  // "channels_last", or "channels_first"
  std::string name = {};
  bool trainable = true;
  std::string dtype = "float32";

  void fields(FieldVisitor& v);
};

/// Repeats planes, rows and columns of volumes. Input (batch, depth, height, width, channels).
class UpSampling3D : public Layer {
 public:
  using Config = UpSampling3DConfig;
  /// Throws InvalidArgumentError unless all sizes are above 0.
  explicit UpSampling3D(const Config& config = {});
  explicit UpSampling3D(Size3D size, Config config = {});
};

}  // namespace nyala
