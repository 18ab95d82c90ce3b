#include <nyala/api/layers/preprocessing/random_sharpness.h>

#include <vector>

#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/preprocessing/image_augmentation.h>
#include <nyala/api/layers/preprocessing/image_numbers.h>
#include <nyala/api/layers/preprocessing/image_smoothing.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/rounding.h>

namespace nyala {

using namespace nyala::detail;

void RandomSharpnessConfig::fields(FieldVisitor& v) {
  visit_factor(v, "factor", factor);
  visit_factor(v, "value_range", value_range);
  v.field("data_format", data_format);
  v.optional("seed", seed, -1);
}

namespace {

class RandomSharpnessNode final : public ImageAugmentation {
 public:
  explicit RandomSharpnessNode(const RandomSharpnessConfig& config)
      : ImageAugmentation(config.seed, "RandomSharpness", config.data_format), config_(config) {
    config_.factor = standard_limits("RandomSharpness", config.factor, 0.0);
    config_.value_range = sorted_limits("RandomSharpness", "value_range", config.value_range);
  }
  std::string class_name() const override { return "RandomSharpness"; }
  void fields(FieldVisitor& v) override { config_.fields(v); }

  ImageDrawRanges each() const override { return {two_limits("RandomSharpness", "factor", config_.factor)}; }
  Tensor changed(Call&, const Tensor& images, const ImageDraws& draws) const override {
    const auto [least, most] = two_limits("RandomSharpness", "value_range", config_.value_range);
    std::vector<double> weights(9, 1.0 / 13.0);
    weights[4] = 5.0 / 13.0;
    const Tensor smooth =
        smoothed(images, ops::cast(Tensor::from(weights, {3, 3}), images.dtype()).to(images.device()));
    const Tensor part = 1.0 - per_image(draws.each, images) * 2.0;
    return ops::clip(images + part * (smooth - images), least, most);
  }

 private:
  RandomSharpnessConfig config_;
};

}  // namespace

RandomSharpness::RandomSharpness(const Config& config) : Layer(node_from<RandomSharpnessNode>(config)) {}

RandomSharpness::RandomSharpness(const FactorRange& factor, Config config)
    : RandomSharpness(with(std::move(config), &Config::factor, factor)) {}

}  // namespace nyala
