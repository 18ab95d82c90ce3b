#pragma once

#include <nyala/api/base/names_required.h>
#include <nyala/api/layers/base/factor_range.h>
#include <nyala/api/layers/base/layer.h>

namespace nyala {

struct RandomBrightnessConfig {
  NamesRequired names_required = NamesRequired();
  FactorRange factor = {};  // Keras has no default
  FactorRange value_range = {0.0, 255.0};
  int64_t seed = -1;             // below 0: none
  std::string data_format = {};  // "channels_last", or "channels_first"
  std::string name = {};
  bool trainable = true;
  std::string dtype = {};

  void fields(FieldVisitor& v);
};

/// In training adds to all values of an image a number between the limits of `factor`, times the width of
/// value_range, and cuts them to that range. See ImageAugmentation.
class RandomBrightness : public Layer {
 public:
  using Config = RandomBrightnessConfig;
  /// Throws InvalidArgumentError for a factor outside [-1, 1] or a value_range that is not two numbers.
  explicit RandomBrightness(const Config& config);
  explicit RandomBrightness(const FactorRange& factor, Config config = {});
};

}  // namespace nyala
