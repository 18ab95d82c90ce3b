#pragma once

#include <nyala/api/base/names_required.h>
#include <nyala/api/layers/base/factor_range.h>
#include <nyala/api/layers/base/layer.h>

namespace nyala {

struct CutMixConfig {
  NamesRequired names_required = NamesRequired();
  FactorRange factor = 1.0;
  int64_t seed = -1;             // below 0: none
  std::string data_format = {};  // "channels_last", or "channels_first"
  std::string name = {};
  bool trainable = true;
  std::string dtype = {};

  void fields(FieldVisitor& v);
};

/// In training puts a rectangle of another image of the batch into each, anywhere, with the proportions of
/// the image and a part of its area that is drawn from the Beta distribution with a twice, where a is drawn
/// for the batch as a whole between the limits of `factor`; one number f stands for {0, f}. Labels are mixed
/// by the areas (Yun et al. 2019). See ImageMixing: `Outputs mixed = cut_mix.call_all({images, labels})`.
class CutMix : public Layer {
 public:
  using Config = CutMixConfig;
  /// Throws InvalidArgumentError for a factor outside [0, 1]; building throws ShapeError for labels that
  /// are not (rows, classes).
  explicit CutMix(const Config& config = {});
  explicit CutMix(const FactorRange& factor, Config config = {});
};

}  // namespace nyala
