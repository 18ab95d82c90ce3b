#pragma once

#include <nyala/api/base/names_required.h>
#include <nyala/api/layers/base/layer.h>
#include <nyala/api/layers/base/size.h>

namespace nyala {

struct UpSampling1DConfig {
  NamesRequired names_required = NamesRequired();
  int64_t size = 2;
  std::string name = {};
  bool trainable = true;
  std::string dtype = {};

  void fields(FieldVisitor& v);
};

/// Repeats each step `size` times. Input (batch, steps, channels).
class UpSampling1D : public Layer {
 public:
  using Config = UpSampling1DConfig;
  /// Throws InvalidArgumentError unless size is above 0.
  explicit UpSampling1D(const Config& config = {});
  template <size_t N>
  explicit UpSampling1D(const NoSuchField (&)[N]) = delete;
  explicit UpSampling1D(int64_t size, Config config = {});
  template <size_t N>
  explicit UpSampling1D(int64_t, const NoSuchField (&)[N]) = delete;
};

struct UpSampling2DConfig {
  NamesRequired names_required = NamesRequired();
  Size2D size = 2;
  std::string data_format = {};           // "channels_last", or "channels_first"
  std::string interpolation = "nearest";  // "bilinear", "bicubic", "lanczos3", "lanczos5", "area"
  std::string name = {};
  bool trainable = true;
  std::string dtype = {};

  void fields(FieldVisitor& v);
};

/// Makes images `size` times as high and wide: "nearest" repeats rows and columns, the others are those of
/// ops::resize_images. Input (batch, height, width, channels).
class UpSampling2D : public Layer {
 public:
  using Config = UpSampling2DConfig;
  /// Throws InvalidArgumentError unless both sizes are above 0 and the interpolation is known.
  explicit UpSampling2D(const Config& config = {});
  explicit UpSampling2D(Size2D size, Config config = {});
};

struct UpSampling3DConfig {
  NamesRequired names_required = NamesRequired();
  Size3D size = 2;
  std::string data_format = {};  // "channels_last", or "channels_first"
  std::string name = {};
  bool trainable = true;
  std::string dtype = {};

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
