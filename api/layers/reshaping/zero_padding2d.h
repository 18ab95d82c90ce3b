#pragma once

#include <nyala/api/base/names_required.h>
#include <nyala/api/layers/base/layer.h>
#include <nyala/api/layers/base/padding_sizes2d.h>

namespace nyala {

struct ZeroPadding2DConfig {
  NamesRequired names_required = NamesRequired();
  PaddingSizes2D padding = 1;
  std::string data_format = {};  // "channels_last"
  std::string name = {};
  bool trainable = true;
  std::string dtype = "float32";

  void fields(FieldVisitor& v);
};

/// Zeros around an image (batch, height, width, channels): `ZeroPadding2D(1)`, `ZeroPadding2D({1, 2})` for
/// rows and columns, `ZeroPadding2D({{1, 2}, {0, 3}})` for {{top, bottom}, {left, right}}.
class ZeroPadding2D : public Layer {
 public:
  using Config = ZeroPadding2DConfig;
  /// Throws InvalidArgumentError for a negative size.
  explicit ZeroPadding2D(const Config& config = {});
  explicit ZeroPadding2D(PaddingSizes2D padding, Config config = {});
};

}  // namespace nyala
