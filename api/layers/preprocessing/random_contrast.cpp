#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/preprocessing/random_contrast.h>

#include <nyala/api/layers/preprocessing/image_augmentation.h>
#include <nyala/api/layers/preprocessing/image_numbers.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/rounding.h>
#include <nyala/backend/ops/reduction/reduction.h>

namespace nyala {

using namespace nyala::detail;

void RandomContrastConfig::fields(FieldVisitor& v) {
  visit_factor(v, "factor", factor);
  visit_factor(v, "value_range", value_range);
  v.optional("seed", seed, -1);
  v.field("data_format", data_format);
}

namespace {

class RandomContrastNode final : public ImageAugmentation {
 public:
  explicit RandomContrastNode(const RandomContrastConfig& config)
      : ImageAugmentation(config.seed, "RandomContrast", config.data_format), config_(config) {
    config_.factor = standard_limits("RandomContrast", config.factor, 0.0);
    values_ = two_limits("RandomContrast", "value_range", config.value_range);
  }
  std::string class_name() const override { return "RandomContrast"; }
  void fields(FieldVisitor& v) override { config_.fields(v); }

  ImageDrawRanges each() const override {
    const auto [lower, upper] = two_limits("RandomContrast", "factor", config_.factor);
    return {{1.0 - lower, 1.0 + upper}};
  }
  Tensor changed(Call&, const Tensor& images, const ImageDraws& draws) const override {
    const Tensor mean = ops::mean(images, {1, 2}, true);
    const Tensor contrast = per_image(draws.each, images);
    return ops::clip((images - mean) * contrast + mean, values_.low, values_.high);
  }

 private:
  RandomContrastConfig config_;
  ops::UniformRange values_;
};

}  // namespace

RandomContrast::RandomContrast(const Config& config) : Layer(node_from<RandomContrastNode>(config)) {}

RandomContrast::RandomContrast(const FactorRange& factor, Config config)
    : RandomContrast(with(std::move(config), &Config::factor, factor)) {}

}  // namespace nyala
