#pragma once

#include <nyala/api/base/names_required.h>
#include <nyala/api/layers/base/factor_range.h>
#include <nyala/api/layers/base/layer.h>

namespace nyala {

struct RandomRotationConfig {
  NamesRequired names_required = NamesRequired();
  FactorRange factor = {};                 // Keras has no default
  std::string fill_mode = "reflect";       // "constant", "nearest" or "wrap"
  std::string interpolation = "bilinear";  // or "nearest"
  int64_t seed = -1;                       // below 0: none
  double fill_value = 0.0;
  std::string data_format = {};  // "channels_last", or "channels_first"
  std::string name = {};
  bool trainable = true;
  std::string dtype = {};

  void fields(FieldVisitor& v);
};

/// In training turns each image about its middle by an angle between the limits of `factor`, which are parts
/// of a whole turn: 0.25 turns by up to 90 degrees either way. Positive is counter-clockwise. See
/// ImageAugmentation; ops::affine_transform says how pixels are read.
class RandomRotation : public Layer {
 public:
  using Config = RandomRotationConfig;
  /// Throws InvalidArgumentError for a factor outside [-1, 1] and for an unknown fill_mode or interpolation.
  explicit RandomRotation(const Config& config);
  explicit RandomRotation(const FactorRange& factor, Config config = {});
};

}  // namespace nyala
