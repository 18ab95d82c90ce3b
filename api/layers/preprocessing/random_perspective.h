#pragma once

#include <nyala/api/base/names_required.h>
#include <nyala/api/layers/base/factor_range.h>
#include <nyala/api/layers/base/layer.h>

namespace nyala {

struct RandomPerspectiveConfig {
  NamesRequired names_required = NamesRequired();
  FactorRange factor = 1.0;
  double scale = 1.0;
  std::string interpolation = "bilinear";  // or "nearest"
  double fill_value = 0.0;
  int64_t seed = -1;             // below 0: none
  std::string data_format = {};  // "channels_last", or "channels_first"
  std::string name = {};
  bool trainable = true;
  std::string dtype = {};

  void fields(FieldVisitor& v);
};

/// In training moves the corners of images and what lies between them, as one sees a picture from the side;
/// each at a chance that is drawn for it between the limits of `factor`, of which one number f stands for {0,
/// f}. A corner at (x, y) goes to (x + p x, y + q y) with p and q between -scale / 2 and scale / 2, so that
/// the one at (0, 0) stays. Outside of the image is fill_value. See ImageAugmentation.
class RandomPerspective : public Layer {
 public:
  using Config = RandomPerspectiveConfig;
  /// Throws InvalidArgumentError for a factor or scale outside [0, 1] and for an unknown interpolation.
  explicit RandomPerspective(const Config& config = {});
  explicit RandomPerspective(const FactorRange& factor, Config config = {});
};

}  // namespace nyala
