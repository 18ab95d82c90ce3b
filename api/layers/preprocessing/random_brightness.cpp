#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/preprocessing/random_brightness.h>

#include <algorithm>

#include <nyala/api/layers/preprocessing/image_augmentation.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/rounding.h>
#include <nyala/backend/ops/shape/shape.h>

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
    const auto [one, other] = two_limits("RandomBrightness", "value_range", config.value_range);
    config_.value_range = {std::min(one, other), std::max(one, other)};
  }
  std::string class_name() const override { return "RandomBrightness"; }
  void fields(FieldVisitor& v) override { config_.fields(v); }

 private:
  Tensor changed(Call& c, const Tensor& images) const override {
    const auto [lower, upper] = two_limits("RandomBrightness", "factor", config_.factor);
    const auto [darkest, brightest] = two_limits("RandomBrightness", "value_range", config_.value_range);
    const double width = brightest - darkest;
    const Tensor numbers = uniform_for_each(c, images, {{lower, upper}});
    const Tensor added =
        ops::reshape(ops::cast(numbers * width, images.dtype()), {images.shape()[0], 1, 1, 1});
    return ops::clip(images + added, darkest, brightest);
  }

  RandomBrightnessConfig config_;
};

}  // namespace

RandomBrightness::RandomBrightness(const Config& config) : Layer(node_from<RandomBrightnessNode>(config)) {}

RandomBrightness::RandomBrightness(const FactorRange& factor, Config config)
    : RandomBrightness(with(std::move(config), &Config::factor, factor)) {}

}  // namespace nyala
