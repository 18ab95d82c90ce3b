#pragma once

#include <nyala/api/base/names_required.h>
#include <nyala/api/layers/base/factor_range.h>
#include <nyala/api/layers/base/layer.h>

namespace nyala {

struct RandomColorDegenerationConfig {
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

/// In training takes the colours of each image towards its luma by a number between the limits of `factor`,
/// of which one number f stands for {-f, f}, as in Keras: 0 leaves it, 1 makes it grey. Values are cut to
/// value_range. Images of three channels, red, green and blue. See ImageAugmentation.
class RandomColorDegeneration : public Layer {
 public:
  using Config = RandomColorDegenerationConfig;
  /// Throws InvalidArgumentError for a factor outside [-1, 1] or a value_range that is not two numbers;
  /// building throws ShapeError for other images.
  explicit RandomColorDegeneration(const Config& config);
  explicit RandomColorDegeneration(const FactorRange& factor, Config config = {});
};

}  // namespace nyala
