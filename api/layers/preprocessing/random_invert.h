#pragma once

#include <nyala/api/base/names_required.h>
#include <nyala/api/layers/base/factor_range.h>
#include <nyala/api/layers/base/layer.h>

namespace nyala {

struct RandomInvertConfig {
  NamesRequired names_required = NamesRequired();
  FactorRange factor = 1.0;
  FactorRange value_range = {0.0, 255.0};  // the limits of the values
  int64_t seed = -1;                       // below 0: none
  std::string data_format = {};            // "channels_last", or "channels_first"
  std::string name = {};
  bool trainable = true;
  std::string dtype = {};

  void fields(FieldVisitor& v);
};

/// In training takes each value x of an image to the upper one of value_range less x, at a chance that is
/// drawn for each image between the limits of `factor`; one number f stands for {0, f}. See
/// ImageAugmentation.
class RandomInvert : public Layer {
 public:
  using Config = RandomInvertConfig;
  /// Throws InvalidArgumentError for a factor outside [0, 1] or a value_range that is not two numbers.
  explicit RandomInvert(const Config& config = {});
  explicit RandomInvert(const FactorRange& factor, Config config = {});
};

}  // namespace nyala
