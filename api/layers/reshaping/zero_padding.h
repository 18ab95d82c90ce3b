#pragma once

#include <nyala/api/base/names_required.h>
#include <nyala/api/layers/base/edge_sizes.h>
#include <nyala/api/layers/base/layer.h>
#include <nyala/api/layers/base/padding_sizes2d.h>

namespace nyala {

struct ZeroPadding1DConfig {
  NamesRequired names_required = NamesRequired();
  EdgeSizes<1> padding = 1;
  std::string data_format = {};  // "channels_last", or "channels_first"
  std::string name = {};
  bool trainable = true;
  std::string dtype = {};

  void fields(FieldVisitor& v);
};

/// Adds steps of zeros in front and behind. Input (batch, steps, channels).
class ZeroPadding1D : public Layer {
 public:
  using Config = ZeroPadding1DConfig;
  /// Throws InvalidArgumentError for a negative size.
  explicit ZeroPadding1D(const Config& config = {});
  explicit ZeroPadding1D(EdgeSizes<1> padding, Config config = {});
};

struct ZeroPadding2DConfig {
  NamesRequired names_required = NamesRequired();
  PaddingSizes2D padding = 1;
  std::string data_format = {};  // "channels_last"
  std::string name = {};
  bool trainable = true;
  std::string dtype = {};

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

struct ZeroPadding3DConfig {
  NamesRequired names_required = NamesRequired();
  EdgeSizes<3> padding = 1;
  std::string data_format = {};  // "channels_last", or "channels_first"
  std::string name = {};
  bool trainable = true;
  std::string dtype = {};

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
