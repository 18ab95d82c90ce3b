#include <nyala/api/layers/preprocessing/random_color_degeneration.h>

#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/preprocessing/image_augmentation.h>
#include <nyala/api/layers/preprocessing/image_colours.h>
#include <nyala/api/layers/preprocessing/image_numbers.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/rounding.h>

namespace nyala {

using namespace nyala::detail;

void RandomColorDegenerationConfig::fields(FieldVisitor& v) {
  visit_factor(v, "factor", factor);
  visit_factor(v, "value_range", value_range);
  v.field("data_format", data_format);
  v.optional("seed", seed, -1);
}

namespace {

class RandomColorDegenerationNode final : public ImageAugmentation {
 public:
  explicit RandomColorDegenerationNode(const RandomColorDegenerationConfig& config)
      : ImageAugmentation(config.seed, "RandomColorDegeneration", config.data_format), config_(config) {
    config_.factor = standard_limits("RandomColorDegeneration", config.factor, -1.0);
    config_.value_range = sorted_limits("RandomColorDegeneration", "value_range", config.value_range);
  }
  std::string class_name() const override { return "RandomColorDegeneration"; }
  void fields(FieldVisitor& v) override { config_.fields(v); }

  void build(Builder& b, const Shape& input) override {
    ImageAugmentation::build(b, input);
    check_channels(input, {3});
  }

  ImageDrawRanges each() const override {
    return {two_limits("RandomColorDegeneration", "factor", config_.factor)};
  }
  Tensor changed(Call&, const Tensor& images, const ImageDraws& draws) const override {
    const auto [least, most] = two_limits("RandomColorDegeneration", "value_range", config_.value_range);
    const Tensor duller = images + per_image(draws.each, images) * (grey(images) - images);
    return ops::clip(duller, least, most);
  }

 private:
  RandomColorDegenerationConfig config_;
};

}  // namespace

RandomColorDegeneration::RandomColorDegeneration(const Config& config)
    : Layer(node_from<RandomColorDegenerationNode>(config)) {}

RandomColorDegeneration::RandomColorDegeneration(const FactorRange& factor, Config config)
    : RandomColorDegeneration(with(std::move(config), &Config::factor, factor)) {}

}  // namespace nyala
