#pragma once

#include <nyala/api/base/names_required.h>
#include <nyala/api/layers/base/factor_range.h>
#include <nyala/api/layers/base/layer.h>

namespace nyala {

struct RandomElasticTransformConfig {
  NamesRequired names_required = NamesRequired();
  FactorRange factor = 1.0;
  FactorRange scale = 1.0;
  std::string interpolation = "bilinear";  // or "nearest"
  std::string fill_mode = "reflect";       // "constant", "nearest" or "wrap"
  double fill_value = 0.0;
  FactorRange value_range = {0.0, 255.0};  // the limits of the values
  int64_t seed = -1;                       // below 0: none
  std::string data_format = {};            // "channels_last", or "channels_first"
  std::string name = {};
  bool trainable = true;
  std::string dtype = {};

  void fields(FieldVisitor& v);
};

/// In training moves pixels of images as if these lay on rubber, each image at a chance that is drawn for it
/// between the limits of `factor`. The strength s is drawn for the batch as a whole between the limits of
/// `scale`, and one number f stands for {0, f} in both: pixel (x, y) is what the image has at (x + d, y + d),
/// with d a normal number times 0.1 s (longer side) 0.05 s (shorter side), smoothed by a Gaussian of the
/// standard deviation 0.05 s (shorter side), the same along both axes, as in Keras. Outside of the image is
/// what fill_mode says; "reflect" is Keras' own, dcb|abcd|dcb. Values are cut to value_range. The host waits
/// for the strength. See ImageAugmentation.
class RandomElasticTransform : public Layer {
 public:
  using Config = RandomElasticTransformConfig;
  /// Throws InvalidArgumentError for a factor or scale outside [0, 1], an unknown interpolation or
  /// fill_mode and a value_range that is not two numbers.
  explicit RandomElasticTransform(const Config& config = {});
  explicit RandomElasticTransform(const FactorRange& factor, Config config = {});
};

}  // namespace nyala
