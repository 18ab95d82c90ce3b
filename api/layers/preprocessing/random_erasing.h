#pragma once

#include <vector>

#include <nyala/api/base/names_required.h>
#include <nyala/api/layers/base/factor_range.h>
#include <nyala/api/layers/base/layer.h>

namespace nyala {

struct RandomErasingConfig {
  NamesRequired names_required = NamesRequired();
  FactorRange factor = 1.0;
  FactorRange scale = {0.02, 0.33};        // parts of the area
  std::vector<double> fill_value = {};     // one number, or three; none: normal numbers
  FactorRange value_range = {0.0, 255.0};  // the limits of the values
  int64_t seed = -1;                       // below 0: none
  std::string data_format = {};            // "channels_last", or "channels_first"
  std::string name = {};
  bool trainable = true;
  std::string dtype = {};

  void fields(FieldVisitor& v);
};

/// In training fills a rectangle in images, each at a chance that is drawn for it between the limits of
/// `factor`; one number f stands for {0, f}. Width and height are the roots of two numbers between the limits
/// of `scale`, times those of the image, and the place is anywhere. It is filled with fill_value, one number
/// or one for each of three channels, else with normal numbers times the upper limit of value_range, cut to
/// that range. See ImageAugmentation.
class RandomErasing : public Layer {
 public:
  using Config = RandomErasingConfig;
  /// Throws InvalidArgumentError for a factor or scale outside [0, 1], another number of fill_values, or a
  /// value_range that is not two numbers; building throws ShapeError where three of them meet other images.
  explicit RandomErasing(const Config& config = {});
  explicit RandomErasing(const FactorRange& factor, Config config = {});
};

}  // namespace nyala
