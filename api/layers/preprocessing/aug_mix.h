#pragma once

#include <nyala/api/base/names_required.h>
#include <nyala/api/layers/base/factor_range.h>
#include <nyala/api/layers/base/layer.h>

namespace nyala {

struct AugMixConfig {
  NamesRequired names_required = NamesRequired();
  FactorRange value_range = {0.0, 255.0};  // the limits of the values
  int64_t num_chains = 3;
  int64_t chain_depth = 3;
  FactorRange factor = 0.3;
  double alpha = 1.0;
  bool all_ops = true;
  std::string interpolation = "bilinear";  // or "nearest"
  int64_t seed = -1;                       // below 0: none
  std::string data_format = {};            // "channels_last", or "channels_first"
  std::string name = {};
  bool trainable = true;
  std::string dtype = {};

  void fields(FieldVisitor& v);
};

/// In training mixes a batch with num_chains others, which chains of up to chain_depth layers make of it;
/// each place in a chain is drawn for the batch as a whole from RandomShear, RandomTranslation,
/// RandomRotation, RandomPosterization, Solarization, AutoContrast, Equalization, with `all_ops` also
/// RandomBrightness, RandomColorDegeneration, RandomContrast and RandomSharpness, or stays empty (Hendrycks
/// et al. 2020). All have the strength `factor`; one number f stands for {0, f}. The chains' weights are
/// drawn from the Dirichlet and the images' own from the Beta distribution with `alpha`. Values are cut to
/// value_range. The host waits for the choice, which Keras makes once where it compiles a training, and here
/// in each step. Images of three channels, red, green and blue. See ImageAugmentation.
class AugMix : public Layer {
 public:
  using Config = AugMixConfig;
  /// Throws InvalidArgumentError for a factor outside [0, 1], num_chains or chain_depth below 1, an alpha
  /// that is not above 0, an unknown interpolation and a value_range that is not two numbers; building
  /// throws ShapeError for other images.
  explicit AugMix(const Config& config = {});
};

}  // namespace nyala
