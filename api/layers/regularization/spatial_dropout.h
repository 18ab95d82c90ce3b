#pragma once

#include <nyala/api/base/names_required.h>
#include <nyala/api/layers/base/layer.h>

namespace nyala {

struct SpatialDropout1DConfig {
  NamesRequired names_required = NamesRequired();
  double rate = 0.0;  // Keras has no default
  int64_t seed = -1;  // below 0: none
  std::string name = {};
  bool trainable = true;
  std::string dtype = {};

  void fields(FieldVisitor& v);
};

/// Dropout of whole channels: in training each channel of a row becomes 0 in all steps together at chance
/// `rate`, and the others are divided by 1 - rate. Input (batch, steps, channels).
class SpatialDropout1D : public Layer {
 public:
  using Config = SpatialDropout1DConfig;
  /// Throws InvalidArgumentError for a rate outside [0, 1].
  explicit SpatialDropout1D(const Config& config);
  template <size_t N>
  explicit SpatialDropout1D(const NoSuchField (&)[N]) = delete;
  explicit SpatialDropout1D(double rate, Config config = {});
  template <size_t N>
  explicit SpatialDropout1D(double, const NoSuchField (&)[N]) = delete;
};

struct SpatialDropout2DConfig {
  NamesRequired names_required = NamesRequired();
  double rate = 0.0;             // Keras has no default
  std::string data_format = {};  // "channels_last", or "channels_first"
  int64_t seed = -1;             // below 0: none
  std::string name = {};
  bool trainable = true;
  std::string dtype = {};

  void fields(FieldVisitor& v);
};

/// Dropout of whole channels: in training each channel of a row becomes 0 in all pixels together at chance
/// `rate`, and the others are divided by 1 - rate. Input (batch, height, width, channels).
class SpatialDropout2D : public Layer {
 public:
  using Config = SpatialDropout2DConfig;
  /// Throws InvalidArgumentError for a rate outside [0, 1].
  explicit SpatialDropout2D(const Config& config);
  template <size_t N>
  explicit SpatialDropout2D(const NoSuchField (&)[N]) = delete;
  explicit SpatialDropout2D(double rate, Config config = {});
  template <size_t N>
  explicit SpatialDropout2D(double, const NoSuchField (&)[N]) = delete;
};

struct SpatialDropout3DConfig {
  NamesRequired names_required = NamesRequired();
  double rate = 0.0;             // Keras has no default
  std::string data_format = {};  // "channels_last", or "channels_first"
  int64_t seed = -1;             // below 0: none
  std::string name = {};
  bool trainable = true;
  std::string dtype = {};

  void fields(FieldVisitor& v);
};

/// Dropout of whole channels: in training each channel of a row becomes 0 in all voxels together at chance
/// `rate`, and the others are divided by 1 - rate. Input (batch, depth, height, width, channels).
class SpatialDropout3D : public Layer {
 public:
  using Config = SpatialDropout3DConfig;
  /// Throws InvalidArgumentError for a rate outside [0, 1].
  explicit SpatialDropout3D(const Config& config);
  template <size_t N>
  explicit SpatialDropout3D(const NoSuchField (&)[N]) = delete;
  explicit SpatialDropout3D(double rate, Config config = {});
  template <size_t N>
  explicit SpatialDropout3D(double, const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala
