#pragma once

#include <nyala/api/base/names_required.h>
#include <nyala/api/layers/base/factor_range.h>
#include <nyala/api/layers/base/layer.h>

namespace nyala {

struct RandAugmentConfig {
  NamesRequired names_required = NamesRequired();
  FactorRange value_range = {0.0, 255.0};  // the limits of the values
  int64_t num_ops = 2;
  FactorRange factor = 0.5;
  std::string interpolation = "bilinear";  // or "nearest"
  int64_t seed = -1;                       // below 0: none
  std::string data_format = {};            // "channels_last", or "channels_first"
  std::string name = {};
  bool trainable = true;
  std::string dtype = {};

  void fields(FieldVisitor& v);
};

/// In training applies num_ops layers one behind the other to a batch, each of which is drawn for the batch
/// as a whole from RandomShear, RandomTranslation, RandomRotation, RandomBrightness, RandomColorDegeneration,
/// RandomContrast, RandomSharpness, RandomPosterization, Solarization, AutoContrast and Equalization, all
/// with the strength `factor` (Cubuk et al. 2020); one number f stands for {0, f}. Their own numbers are
/// drawn for each image. The host waits for the choice. Images of three channels, red, green and blue. See
/// ImageAugmentation.
class RandAugment : public Layer {
 public:
  using Config = RandAugmentConfig;
  /// Throws InvalidArgumentError for a factor outside [0, 1], num_ops below 0, an unknown interpolation and
  /// a value_range that is not two numbers; building throws ShapeError for other images.
  explicit RandAugment(const Config& config = {});
};

}  // namespace nyala
