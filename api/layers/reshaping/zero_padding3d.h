#pragma once

#include <nyala/api/base/names_required.h>
#include <nyala/api/layers/base/edge_sizes.h>
#include <nyala/api/layers/base/layer.h>

namespace nyala {

struct ZeroPadding3DConfig {
  NamesRequired names_required = NamesRequired();
  EdgeSizes<3> padding = 1;
  std::string data_format = {};  // "channels_last", or "channels_first"
  std::string name = {};
  bool trainable = true;
  std::string dtype = "float32";

  void fields(FieldVisitor& v);
};

/// Adds planes of zeros around a volume. Input (batch, depth, height, width, channels).
class ZeroPadding3D : public Layer {
 public:
  using Config = ZeroPadding3DConfig;
  /// Throws InvalidArgumentError for a negative size.
  explicit ZeroPadding3D(const Config& config = {});
  explicit ZeroPadding3D(EdgeSizes<3> padding, Config config = {});
};

}  // namespace nyala
