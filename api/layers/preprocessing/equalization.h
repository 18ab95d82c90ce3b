#pragma once

#include <nyala/api/base/names_required.h>
#include <nyala/api/layers/base/factor_range.h>
#include <nyala/api/layers/base/layer.h>

namespace nyala {

struct EqualizationConfig {
  NamesRequired names_required = NamesRequired();
  FactorRange value_range = {0.0, 255.0};  // the limits of the values
  int64_t bins = 256;
  std::string data_format = {};  // "channels_last", or "channels_first"
  std::string name = {};
  bool trainable = true;
  std::string dtype = {};

  void fields(FieldVisitor& v);
};

/// In training makes values of the images in a batch about equally frequent, channel by channel: each becomes
/// the part of the global batch's pixels, in `bins` steps of value_range, that is not above it. A channel of
/// one value stays. The steps are the same on any number of replicas; the result has no slope. See
/// ImageAugmentation.
class Equalization : public Layer {
 public:
  using Config = EqualizationConfig;
  /// Throws InvalidArgumentError for bins below 1 or a value_range that is not two numbers.
  explicit Equalization(const Config& config = {});
};

}  // namespace nyala
