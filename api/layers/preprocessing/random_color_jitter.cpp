#include <nyala/api/layers/preprocessing/random_color_jitter.h>

#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/preprocessing/image_augmentation.h>
#include <nyala/api/layers/preprocessing/image_augmentations.h>
#include <nyala/api/layers/preprocessing/random_brightness.h>
#include <nyala/api/layers/preprocessing/random_contrast.h>
#include <nyala/api/layers/preprocessing/random_hue.h>
#include <nyala/api/layers/preprocessing/random_saturation.h>

namespace nyala {

using namespace nyala::detail;

void RandomColorJitterConfig::fields(FieldVisitor& v) {
  visit_factor(v, "value_range", value_range);
  visit_factor(v, "brightness_factor", brightness_factor);
  visit_factor(v, "contrast_factor", contrast_factor);
  visit_factor(v, "saturation_factor", saturation_factor);
  visit_factor(v, "hue_factor", hue_factor);
  v.optional("seed", seed, -1);
  v.field("data_format", data_format);
}

namespace {

class RandomColorJitterNode final : public ImageAugmentation {
 public:
  explicit RandomColorJitterNode(const RandomColorJitterConfig& config)
      : ImageAugmentation(config.seed, "RandomColorJitter", config.data_format), config_(config) {
    const auto with_parts = [this](auto part, const FactorRange& factor) {
      part.factor = factor;
      part.value_range = config_.value_range;
      part.seed = config_.seed;
      return part;
    };
    if (!config.brightness_factor.empty())
      parts_.add(RandomBrightness(with_parts(RandomBrightnessConfig(), config.brightness_factor)));
    if (!config.contrast_factor.empty())
      parts_.add(RandomContrast(with_parts(RandomContrastConfig(), config.contrast_factor)));
    if (!config.saturation_factor.empty())
      parts_.add(RandomSaturation(with_parts(RandomSaturationConfig(), config.saturation_factor)));
    if (!config.hue_factor.empty()) parts_.add(RandomHue(with_parts(RandomHueConfig(), config.hue_factor)));
  }
  std::string class_name() const override { return "RandomColorJitter"; }
  void fields(FieldVisitor& v) override { config_.fields(v); }

  void build(Builder& b, const Shape& input) override {
    ImageAugmentation::build(b, input);
    if (!config_.saturation_factor.empty() || !config_.hue_factor.empty()) check_channels(input, {3});
  }

  ImageDrawRanges each() const override { return parts_.each(); }
  Tensor changed(Call& c, const Tensor& images, const ImageDraws& draws) const override {
    Tensor x = images;
    for (size_t i = 0; i < parts_.size(); ++i) x = parts_.changed(c, x, i, draws.each);
    return x;
  }

 private:
  ImageAugmentations parts_;
  RandomColorJitterConfig config_;
};

}  // namespace

RandomColorJitter::RandomColorJitter(const Config& config)
    : Layer(node_from<RandomColorJitterNode>(config)) {}

}  // namespace nyala
