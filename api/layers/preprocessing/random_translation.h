#pragma once

#include <nyala/api/base/names_required.h>
#include <nyala/api/layers/base/factor_range.h>
#include <nyala/api/layers/base/layer.h>

namespace nyala {

struct RandomTranslationConfig {
  NamesRequired names_required = NamesRequired();
  FactorRange height_factor = {};  // Keras has no defaults
  FactorRange width_factor = {};
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

/// In training moves each image down by a part of its height and to the right by a part of its width, which
/// lie between the limits of the factors. See ImageAugmentation; ops::affine_transform says how pixels are
/// read.
class RandomTranslation : public Layer {
 public:
  using Config = RandomTranslationConfig;
  /// Throws InvalidArgumentError for a factor outside [-1, 1] and for an unknown fill_mode or interpolation.
  explicit RandomTranslation(const Config& config);
  RandomTranslation(const FactorRange& height_factor, const FactorRange& width_factor, Config config = {});
};

}  // namespace nyala
