#pragma once

#include <nyala/api/base/names_required.h>
#include <nyala/api/layers/base/factor_range.h>
#include <nyala/api/layers/base/layer.h>

namespace nyala {

struct RandomColorJitterConfig {
  NamesRequired names_required = NamesRequired();
  FactorRange value_range = {0.0, 255.0};  // the limits of the values
  FactorRange brightness_factor = {};      // none: as it is
  FactorRange contrast_factor = {};
  FactorRange saturation_factor = {};
  FactorRange hue_factor = {};
  int64_t seed = -1;             // below 0: none
  std::string data_format = {};  // "channels_last", or "channels_first"
  std::string name = {};
  bool trainable = true;
  std::string dtype = {};

  void fields(FieldVisitor& v);
};

/// In training RandomBrightness, RandomContrast, RandomSaturation and RandomHue in this order, of which those
/// take part whose factor is given. See ImageAugmentation.
class RandomColorJitter : public Layer {
 public:
  using Config = RandomColorJitterConfig;
  /// Throws InvalidArgumentError as these do; building throws ShapeError as they do.
  explicit RandomColorJitter(const Config& config = {});
};

}  // namespace nyala
