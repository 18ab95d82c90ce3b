#pragma once

#include <nyala/api/base/names_required.h>
#include <nyala/api/layers/base/factor_range.h>
#include <nyala/api/layers/base/layer.h>

namespace nyala {

struct RandomHueConfig {
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

/// In training turns the hue of each image either way by half of a number between the limits of `factor`, of
/// which one number f stands for {0, f}; 1 is the whole circle. Images of three channels, red, green and
/// blue. See ImageAugmentation.
class RandomHue : public Layer {
 public:
  using Config = RandomHueConfig;
  /// Throws InvalidArgumentError for a factor outside [0, 1] or a value_range that is not two numbers;
  /// building throws ShapeError for other images.
  explicit RandomHue(const Config& config);
  explicit RandomHue(const FactorRange& factor, Config config = {});
};

}  // namespace nyala
