#pragma once

#include <nyala/api/base/names_required.h>
#include <nyala/api/layers/base/factor_range.h>
#include <nyala/api/layers/base/layer.h>

namespace nyala {

struct RandomPosterizationConfig {
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

/// In training keeps the upper bits of each value of an image, which becomes a byte for it: as many as a
/// whole number from the lower limit of `factor` up to, but not, the upper one, drawn for each image. One
/// number n stands for {1, n}, as in Keras; for always n bits give {n, n}. The result has no slope. See
/// ImageAugmentation.
class RandomPosterization : public Layer {
 public:
  using Config = RandomPosterizationConfig;
  /// Throws InvalidArgumentError for a factor outside [1, 8] or a value_range that is not two numbers.
  explicit RandomPosterization(const Config& config);
  explicit RandomPosterization(const FactorRange& factor, Config config = {});
};

}  // namespace nyala
