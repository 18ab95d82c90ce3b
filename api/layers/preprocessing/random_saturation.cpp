#include <nyala/api/layers/preprocessing/random_saturation.h>

#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/preprocessing/image_augmentation.h>
#include <nyala/api/layers/preprocessing/image_colours.h>
#include <nyala/api/layers/preprocessing/image_numbers.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/rounding.h>

namespace nyala {

using namespace nyala::detail;

void RandomSaturationConfig::fields(FieldVisitor& v) {
  visit_factor(v, "factor", factor);
  visit_factor(v, "value_range", value_range);
  v.field("data_format", data_format);
  v.optional("seed", seed, -1);
}

namespace {

class RandomSaturationNode final : public ImageAugmentation {
 public:
  explicit RandomSaturationNode(const RandomSaturationConfig& config)
      : ImageAugmentation(config.seed, "RandomSaturation", config.data_format), config_(config) {
    config_.factor = standard_limits("RandomSaturation", config.factor, -1.0);
    config_.value_range = sorted_limits("RandomSaturation", "value_range", config.value_range);
  }
  std::string class_name() const override { return "RandomSaturation"; }
  void fields(FieldVisitor& v) override { config_.fields(v); }

  void build(Builder& b, const Shape& input) override {
    ImageAugmentation::build(b, input);
    check_channels(input, {3});
  }

  ImageDrawRanges each() const override { return {two_limits("RandomSaturation", "factor", config_.factor)}; }
  Tensor changed(Call&, const Tensor& images, const ImageDraws& draws) const override {
    const auto [least, most] = two_limits("RandomSaturation", "value_range", config_.value_range);
    const Tensor factor = draws.each / (1.0 - draws.each + 1e-7);
    HueSaturationValue colours = to_hsv(images);
    const Tensor saturation = colours.saturation * per_image(factor, images);
    colours.saturation = ops::clip(saturation, least, most);
    return to_rgb(colours);
  }

 private:
  RandomSaturationConfig config_;
};

}  // namespace

RandomSaturation::RandomSaturation(const Config& config) : Layer(node_from<RandomSaturationNode>(config)) {}

RandomSaturation::RandomSaturation(const FactorRange& factor, Config config)
    : RandomSaturation(with(std::move(config), &Config::factor, factor)) {}

}  // namespace nyala
