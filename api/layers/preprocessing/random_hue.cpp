#include <nyala/api/layers/preprocessing/random_hue.h>

#include <nyala/api/base/at_least_float32.h>
#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/preprocessing/image_augmentation.h>
#include <nyala/api/layers/preprocessing/image_colours.h>
#include <nyala/api/layers/preprocessing/image_numbers.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/binary.h>
#include <nyala/backend/ops/elementwise/comparison.h>
#include <nyala/backend/ops/elementwise/rounding.h>

namespace nyala {

using namespace nyala::detail;

void RandomHueConfig::fields(FieldVisitor& v) {
  visit_factor(v, "factor", factor);
  visit_factor(v, "value_range", value_range);
  v.field("data_format", data_format);
  v.optional("seed", seed, -1);
}

namespace {

class RandomHueNode final : public ImageAugmentation {
 public:
  explicit RandomHueNode(const RandomHueConfig& config)
      : ImageAugmentation(config.seed, "RandomHue", config.data_format), config_(config) {
    config_.factor = standard_limits("RandomHue", config.factor, 0.0);
    values_ = two_limits("RandomHue", "value_range", config.value_range);
  }
  std::string class_name() const override { return "RandomHue"; }
  void fields(FieldVisitor& v) override { config_.fields(v); }

  void build(Builder& b, const Shape& input) override {
    ImageAugmentation::build(b, input);
    check_channels(input, {3});
  }

  ImageDrawRanges each() const override {
    return {{0.0, 1.0}, two_limits("RandomHue", "factor", config_.factor)};
  }
  Tensor changed(Call&, const Tensor& images, const ImageDraws& draws) const override {
    HueSaturationValue colours = to_hsv(in_range(at_least_float32(images), values_, {0.0, 1.0}));
    const Tensor sign = ops::where(column(draws.each, 0) > 0.5, -1.0f, Tensor(1.0f));
    const Tensor hue = colours.hue + per_image(sign * column(draws.each, 1) * 0.5, colours.hue);
    const Tensor below = ops::where(hue > 1.0, hue - 1.0, hue);
    colours.hue = ops::where(below < 0.0, below + 1.0, below);
    return ops::cast(in_range(ops::clip(to_rgb(colours), 0.0, 1.0), {0.0, 1.0}, values_), images.dtype());
  }

 private:
  ops::UniformRange values_;
  RandomHueConfig config_;
};

}  // namespace

RandomHue::RandomHue(const Config& config) : Layer(node_from<RandomHueNode>(config)) {}

RandomHue::RandomHue(const FactorRange& factor, Config config)
    : RandomHue(with(std::move(config), &Config::factor, factor)) {}

}  // namespace nyala
