#include <nyala/api/layers/preprocessing/random_erasing.h>

#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/preprocessing/image_augmentation.h>
#include <nyala/api/layers/preprocessing/image_numbers.h>
#include <nyala/api/layers/preprocessing/image_patches.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/binary.h>
#include <nyala/backend/ops/elementwise/exponential.h>
#include <nyala/backend/ops/elementwise/logical.h>
#include <nyala/backend/ops/elementwise/rounding.h>

namespace nyala {

using namespace nyala::detail;

void RandomErasingConfig::fields(FieldVisitor& v) {
  visit_factor(v, "factor", factor);
  visit_factor(v, "scale", scale);
  v.field("fill_value", fill_value);
  visit_factor(v, "value_range", value_range);
  v.optional("seed", seed, -1);
  v.field("data_format", data_format);
}

namespace {

class RandomErasingNode final : public ImageAugmentation {
 public:
  explicit RandomErasingNode(const RandomErasingConfig& config)
      : ImageAugmentation(config.seed, "RandomErasing", config.data_format), config_(config) {
    config_.factor = standard_limits("RandomErasing", config.factor, 0.0);
    config_.scale = standard_limits("RandomErasing", config.scale, 0.0, 1.0, "scale");
    values_ = two_limits("RandomErasing", "value_range", config.value_range);
    const size_t count = config.fill_value.size();
    if (count == 2 || count > 3)
      throw InvalidArgumentError("RandomErasing: expected a fill_value of one number or three, received " +
                                 std::to_string(count));
  }
  std::string class_name() const override { return "RandomErasing"; }
  void fields(FieldVisitor& v) override { config_.fields(v); }

  void build(Builder& b, const Shape& input) override {
    ImageAugmentation::build(b, input);
    if (config_.fill_value.size() == 3) check_channels(input, {3});
  }

  /// Width, height, left, top, chance, and what is below it or not.
  ImageDrawRanges each() const override {
    const ops::UniformRange scale = two_limits("RandomErasing", "scale", config_.scale);
    return {scale,     scale, {0.0, 1.0}, {0.0, 1.0}, two_limits("RandomErasing", "factor", config_.factor),
            {0.0, 1.0}};
  }
  Shape normal_shape(const Shape& images) const override {
    return config_.fill_value.empty() ? images : Shape();
  }
  Tensor changed(Call&, const Tensor& images, const ImageDraws& draws) const override {
    const int64_t height = images.shape()[1], width = images.shape()[2];
    const auto side = [&](int64_t i, int64_t length) {
      return patch_side(ops::sqrt(column(draws.each, i)), column(draws.each, i + 2), length);
    };
    const Tensor inside = in_patches(side(0, width), side(1, height), height, width);
    const Tensor filled = ops::clip(fill(images, draws), values_.low, values_.high);
    return ops::where(ops::logical_and(inside, chosen(draws.each, 4)), filled, images);
  }

 private:
  Tensor fill(const Tensor& images, const ImageDraws& draws) const {
    if (config_.fill_value.empty()) return draws.normal * values_.high;
    const Tensor numbers =
        Tensor::from(config_.fill_value, {static_cast<int64_t>(config_.fill_value.size())});
    return ops::cast(numbers, images.dtype()).to(images.device());
  }

  ops::UniformRange values_;
  RandomErasingConfig config_;
};

}  // namespace

RandomErasing::RandomErasing(const Config& config) : Layer(node_from<RandomErasingNode>(config)) {}

RandomErasing::RandomErasing(const FactorRange& factor, Config config)
    : RandomErasing(with(std::move(config), &Config::factor, factor)) {}

}  // namespace nyala
