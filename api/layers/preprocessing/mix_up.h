#pragma once

#include <nyala/api/base/names_required.h>
#include <nyala/api/layers/base/layer.h>

namespace nyala {

struct MixUpConfig {
  NamesRequired names_required = NamesRequired();
  double alpha = 0.2;
  std::string data_format = {};  // "channels_last", or "channels_first"
  int64_t seed = -1;             // below 0: none
  std::string name = {};
  bool trainable = true;
  std::string dtype = {};

  void fields(FieldVisitor& v);
};

/// In training w x + (1 - w) y for each image x and another one y of the batch, and the same of their labels,
/// with w drawn from the Beta distribution with alpha twice (Zhang et al. 2018). See ImageMixing: `Outputs
/// mixed = mix_up.call_all({images, labels})`.
class MixUp : public Layer {
 public:
  using Config = MixUpConfig;
  /// Throws InvalidArgumentError unless alpha is above 0; building throws ShapeError for labels that are
  /// not (rows, classes).
  explicit MixUp(const Config& config = {});
};

}  // namespace nyala
