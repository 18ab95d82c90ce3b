#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/preprocessing/random_brightness.h>

#include <nyala/api/layers/preprocessing/image_augmentation.h>
#include <nyala/api/layers/preprocessing/image_numbers.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/rounding.h>

namespace nyala {

using namespace nyala::detail;

void RandomBrightnessConfig::fields(FieldVisitor& v) {
  visit_factor(v, "factor", factor);
  visit_factor(v, "value_range", value_range);
  v.optional("seed", seed, -1);
  v.field("data_format", data_format);
}

namespace {

class RandomBrightnessNode final : public ImageAugmentation {
 public:
  explicit RandomBrightnessNode(const RandomBrightnessConfig& config)
      : ImageAugmentation(config.seed, "RandomBrightness", config.data_format), config_(config) {
    config_.factor = standard_limits("RandomBrightness", config.factor, -1.0);
    config_.value_range = sorted_limits("RandomBrightness", "value_range", config.value_range);
  }
  std::string class_name() const override { return "RandomBrightness"; }
  void fields(FieldVisitor& v) override { config_.fields(v); }

  ImageDrawRanges each() const override { return {two_limits("RandomBrightness", "factor", config_.factor)}; }
  Tensor changed(Call&, const Tensor& images, const ImageDraws& draws) const override {
    const auto [darkest, brightest] = two_limits("RandomBrightness", "value_range", config_.value_range);
    return ops::clip(images + per_image(draws.each * (brightest - darkest), images), darkest, brightest);
  }

 private:
  RandomBrightnessConfig config_;
};

}  // namespace

RandomBrightness::RandomBrightness(const Config& config) : Layer(node_from<RandomBrightnessNode>(config)) {}

RandomBrightness::RandomBrightness(const FactorRange& factor, Config config)
    : RandomBrightness(with(std::move(config), &Config::factor, factor)) {}

}  // namespace nyala
