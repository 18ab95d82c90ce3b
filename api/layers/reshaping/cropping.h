#pragma once

#include <nyala/api/base/names_required.h>
#include <nyala/api/layers/base/edge_sizes.h>
#include <nyala/api/layers/base/layer.h>

namespace nyala {

struct Cropping1DConfig {
  NamesRequired names_required = NamesRequired();
  EdgeSizes<1> cropping = 1;
  std::string name = {};
  bool trainable = true;
  std::string dtype = {};

  void fields(FieldVisitor& v);
};

/// Leaves out the first and last steps. Input (batch, steps, channels).
class Cropping1D : public Layer {
 public:
  using Config = Cropping1DConfig;
  /// Throws InvalidArgumentError for a negative size; building throws ShapeError where nothing would be
  /// left.
  explicit Cropping1D(const Config& config = {});
  explicit Cropping1D(EdgeSizes<1> cropping, Config config = {});
};

struct Cropping2DConfig {
  NamesRequired names_required = NamesRequired();
  EdgeSizes<2> cropping = 0;
  std::string data_format = {};  // "channels_last", or "channels_first"
  std::string name = {};
  bool trainable = true;
  std::string dtype = {};

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

struct Cropping3DConfig {
  NamesRequired names_required = NamesRequired();
  EdgeSizes<3> cropping = 1;
  std::string data_format = {};  // "channels_last", or "channels_first"
  std::string name = {};
  bool trainable = true;
  std::string dtype = {};

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
