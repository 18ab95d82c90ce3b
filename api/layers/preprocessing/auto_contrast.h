#pragma once

#include <nyala/api/base/names_required.h>
#include <nyala/api/layers/base/factor_range.h>
#include <nyala/api/layers/base/layer.h>

namespace nyala {

struct AutoContrastConfig {
  NamesRequired names_required = NamesRequired();
  FactorRange value_range = {0.0, 255.0};  // the limits of the values
  std::string data_format = {};            // "channels_last", or "channels_first"
  std::string name = {};
  bool trainable = true;
  std::string dtype = {};

  void fields(FieldVisitor& v);
};

/// Spreads the values of each channel of an image over value_range, in training and out of it: its least
/// value becomes the lower limit, its largest one the upper. A channel of one value stays. See
/// ImageAugmentation.
class AutoContrast : public Layer {
 public:
  using Config = AutoContrastConfig;
  /// Throws InvalidArgumentError for a value_range that is not two numbers.
  explicit AutoContrast(const Config& config = {});
};

}  // namespace nyala
