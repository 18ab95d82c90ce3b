#pragma once

#include <nyala/api/base/names_required.h>
#include <nyala/api/layers/base/factor_range.h>
#include <nyala/api/layers/base/layer.h>

namespace nyala {

struct RandomSaturationConfig {
  NamesRequired names_required = NamesRequired();
  FactorRange factor = {};                 // Keras has no default
  FactorRange value_range = {0.0, 255.0};  // the limits of the values
  std::string data_format = {};            // "channels_last", or "channels_first"
  int64_t seed = -1;                       // below 0: none
  std::string name = {};
  bool trainable = true;
  std::string dtype = {};

  void fields(FieldVisitor& v);
};

/// In training multiplies the saturation of each image by f / (1 - f) for a number f between the limits of
/// `factor`: 0 makes it grey, 0.5 leaves it, 1 makes it as colourful as can be. One number f stands for {-f,
/// f}, as in Keras. The products are cut to value_range, but not the images brought into it. Images of three
/// channels, red, green and blue. See ImageAugmentation.
class RandomSaturation : public Layer {
 public:
  using Config = RandomSaturationConfig;
  /// Throws InvalidArgumentError for a factor outside [-1, 1] or a value_range that is not two numbers;
  /// building throws ShapeError for other images.
  explicit RandomSaturation(const Config& config);
  explicit RandomSaturation(const FactorRange& factor, Config config = {});
};

}  // namespace nyala
