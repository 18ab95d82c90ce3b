#pragma once

#include <nyala/api/base/names_required.h>
#include <nyala/api/layers/base/factor_range.h>
#include <nyala/api/layers/base/layer.h>
#include <nyala/api/layers/base/size.h>

namespace nyala {

struct ContrastLimitedAdaptiveHistogramEqualizationConfig {
  NamesRequired names_required = NamesRequired();
  FactorRange value_range = {0.0, 255.0};  // the limits of the values
  double clip_limit = 4.0;
  Size2D tile_grid_size = 8;     // rows, columns of tiles
  std::string data_format = {};  // "channels_last", or "channels_first"
  std::string name = {};
  bool trainable = true;
  std::string dtype = {};

  void fields(FieldVisitor& v);
};

/// Equalizes the histogram of each channel of an image by tiles, in training and out of it (Zuiderveld 1994):
/// counts above clip_limit times their mean are spread over all 256, and pixels get a mean of what the tiles
/// around them make of their value. Images are continued by their mirror image where the tiles do not fit.
/// The result has no slope. See ImageAugmentation.
class ContrastLimitedAdaptiveHistogramEqualization : public Layer {
 public:
  using Config = ContrastLimitedAdaptiveHistogramEqualizationConfig;
  /// Throws InvalidArgumentError for a tile_grid_size below 1 or a value_range that is not two numbers.
  explicit ContrastLimitedAdaptiveHistogramEqualization(const Config& config = {});
};

}  // namespace nyala
