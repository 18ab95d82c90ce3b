#pragma once

#include <nyala/api/base/names_required.h>
#include <nyala/api/layers/base/factor_range.h>
#include <nyala/api/layers/base/layer.h>

namespace nyala {

struct RandomZoomConfig {
  NamesRequired names_required = NamesRequired();
  FactorRange height_factor = {};          // Keras has no default
  FactorRange width_factor = {};           // empty: as the height
  std::string fill_mode = "reflect";       // "constant", "nearest" or "wrap"
  std::string interpolation = "bilinear";  // or "nearest"
  int64_t seed = -1;                       // below 0: none
  double fill_value = 0.0;
  std::string data_format = {};  // "channels_last", or "channels_first"
  std::string name = {};
  bool trainable = true;
  std::string dtype = {};

  void fields(FieldVisitor& v);
};

/// In training shows of each image 1 + h of its height and 1 + w of its width, with h and w between the
/// limits of the factors: above 0 the image becomes smaller, below larger. Without a width_factor w is h. See
/// ImageAugmentation; ops::affine_transform says how pixels are read.
class RandomZoom : public Layer {
 public:
  using Config = RandomZoomConfig;
  /// Throws InvalidArgumentError for a factor outside (-1, 1] and for an unknown fill_mode or interpolation.
  explicit RandomZoom(const Config& config);
  explicit RandomZoom(const FactorRange& height_factor, Config config = {});
};

}  // namespace nyala
