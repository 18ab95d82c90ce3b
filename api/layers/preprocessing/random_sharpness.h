#pragma once

#include <nyala/api/base/names_required.h>
#include <nyala/api/layers/base/factor_range.h>
#include <nyala/api/layers/base/layer.h>

namespace nyala {

struct RandomSharpnessConfig {
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

/// In training takes each image x towards its mean s over 3 x 3 pixels with the middle counted five times: x
/// + (1 - 2 f)(s - x) for a number f between the limits of `factor`, of which one number f stands for {0, f};
/// 0.5 leaves it, 1 sharpens. Beyond the edges there are zeros. Values are cut to value_range. See
/// ImageAugmentation.
class RandomSharpness : public Layer {
 public:
  using Config = RandomSharpnessConfig;
  /// Throws InvalidArgumentError for a factor outside [0, 1] or a value_range that is not two numbers.
  explicit RandomSharpness(const Config& config);
  explicit RandomSharpness(const FactorRange& factor, Config config = {});
};

}  // namespace nyala
