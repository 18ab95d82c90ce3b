#pragma once

#include <nyala/api/base/names_required.h>
#include <nyala/api/layers/base/factor_range.h>
#include <nyala/api/layers/base/layer.h>

namespace nyala {

struct SolarizationConfig {
  NamesRequired names_required = NamesRequired();
  FactorRange addition_factor = 0.0;
  FactorRange threshold_factor = 0.0;
  FactorRange value_range = {0.0, 255.0};  // the limits of the values
  int64_t seed = -1;                       // below 0: none
  std::string data_format = {};            // "channels_last", or "channels_first"
  std::string name = {};
  bool trainable = true;
  std::string dtype = {};

  void fields(FieldVisitor& v);
};

/// In training, for values x of an image as bytes: adds a number of it, cuts to 0 ... 255, and takes what is
/// not below a threshold of the image to 255 - x. The number is drawn between the lower limit of
/// `addition_factor` and 255 times its upper one, the threshold likewise (the lower limits are not multiplied
/// in Keras either); one number f stands for {0, f}. See ImageAugmentation.
class Solarization : public Layer {
 public:
  using Config = SolarizationConfig;
  /// Throws InvalidArgumentError for factors outside [0, 1] or a value_range that is not two numbers.
  explicit Solarization(const Config& config = {});
};

}  // namespace nyala
