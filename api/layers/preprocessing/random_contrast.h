#pragma once

#include <nyala/api/base/names_required.h>
#include <nyala/api/layers/base/factor_range.h>
#include <nyala/api/layers/base/layer.h>

namespace nyala {

struct RandomContrastConfig {
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

/// In training takes the pixels of each image away from the mean of their channel, by a number that all its
/// channels share: (x - mean) * number + mean, cut to value_range. The number lies between 1 - lower and
/// 1 + upper; as in Keras 3.15 one number f stands for the limits (0, f), which only add contrast. See
/// ImageAugmentation.
class RandomContrast : public Layer {
 public:
  using Config = RandomContrastConfig;
  /// Throws InvalidArgumentError for a factor outside [0, 1] or a value_range that is not two numbers.
  explicit RandomContrast(const Config& config);
  explicit RandomContrast(const FactorRange& factor, Config config = {});
};

}  // namespace nyala
