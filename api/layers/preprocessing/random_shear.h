#pragma once

#include <nyala/api/base/names_required.h>
#include <nyala/api/layers/base/factor_range.h>
#include <nyala/api/layers/base/layer.h>

namespace nyala {

struct RandomShearConfig {
  NamesRequired names_required = NamesRequired();
  FactorRange x_factor = 0.0;
  FactorRange y_factor = 0.0;
  std::string interpolation = "bilinear";  // or "nearest"
  std::string fill_mode = "reflect";       // "constant", "nearest" or "wrap"
  double fill_value = 0.0;
  std::string data_format = {};  // "channels_last", or "channels_first"
  int64_t seed = -1;             // below 0: none
  std::string name = {};
  bool trainable = true;
  std::string dtype = {};

  void fields(FieldVisitor& v);
};

/// In training shears each image: pixel (x, y) is what the image has at (x + s y, y + t x), with s between
/// the limits of x_factor and t between those of y_factor, both negative for half of the images. One number f
/// stands for {-f, f}. See ImageAugmentation; ops::affine_transform says how pixels are read.
class RandomShear : public Layer {
 public:
  using Config = RandomShearConfig;
  /// Throws InvalidArgumentError for factors outside [0, 1] and for an unknown fill_mode or interpolation.
  /// Two limits {-f, f} are taken, too: Keras' files hold them, though Keras does not read them.
  explicit RandomShear(const Config& config = {});
  explicit RandomShear(const FactorRange& x_factor, const FactorRange& y_factor, Config config = {});
};

}  // namespace nyala
