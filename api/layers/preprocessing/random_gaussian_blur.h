#pragma once

#include <nyala/api/base/names_required.h>
#include <nyala/api/layers/base/factor_range.h>
#include <nyala/api/layers/base/layer.h>
#include <nyala/api/layers/base/size.h>

namespace nyala {

struct RandomGaussianBlurConfig {
  NamesRequired names_required = NamesRequired();
  FactorRange factor = 1.0;
  Size2D kernel_size = 3;  // both odd
  FactorRange sigma = 1.0;
  FactorRange value_range = {0.0, 255.0};  // the limits of the values
  std::string data_format = {};            // "channels_last", or "channels_first"
  int64_t seed = -1;                       // below 0: none
  std::string name = {};
  bool trainable = true;
  std::string dtype = {};

  void fields(FieldVisitor& v);
};

/// In training blurs images with a Gaussian kernel, each at a chance that is drawn for it between the limits
/// of `factor`. The standard deviations along width and height are drawn for the batch as a whole between the
/// limits of `sigma`; one number s stands for {0, s}, and likewise of `factor`. Beyond the edges there are
/// zeros; values are cut to value_range. See ImageAugmentation.
class RandomGaussianBlur : public Layer {
 public:
  using Config = RandomGaussianBlurConfig;
  /// Throws InvalidArgumentError for a factor or sigma outside [0, 1], an even kernel_size or one below 1,
  /// and a value_range that is not two numbers.
  explicit RandomGaussianBlur(const Config& config = {});
  explicit RandomGaussianBlur(const FactorRange& factor, Config config = {});
};

}  // namespace nyala
