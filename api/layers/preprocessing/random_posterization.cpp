#include <nyala/api/layers/preprocessing/random_posterization.h>

#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/preprocessing/image_augmentation.h>
#include <nyala/api/layers/preprocessing/image_numbers.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/binary.h>
#include <nyala/backend/ops/elementwise/rounding.h>

namespace nyala {

using namespace nyala::detail;

void RandomPosterizationConfig::fields(FieldVisitor& v) {
  visit_factor(v, "factor", factor);
  visit_factor(v, "value_range", value_range);
  v.field("data_format", data_format);
  v.optional("seed", seed, -1);
}

namespace {

class RandomPosterizationNode final : public ImageAugmentation {
 public:
  explicit RandomPosterizationNode(const RandomPosterizationConfig& config)
      : ImageAugmentation(config.seed, "RandomPosterization", config.data_format), config_(config) {
    config_.factor = standard_limits("RandomPosterization", config.factor, 1.0, 8.0);
    config_.value_range = sorted_limits("RandomPosterization", "value_range", config.value_range);
    values_ = two_limits("RandomPosterization", "value_range", config_.value_range);
  }
  std::string class_name() const override { return "RandomPosterization"; }
  void fields(FieldVisitor& v) override { config_.fields(v); }

  ImageDrawRanges each() const override {
    return {two_limits("RandomPosterization", "factor", config_.factor)};
  }
  Tensor changed(Call&, const Tensor& images, const ImageDraws& draws) const override {
    const Tensor bits = ops::floor(per_image(draws.each, images));
    const Tensor step = ops::power(2.0, 8.0 - bits);
    const Tensor bytes = ops::trunc(in_range(images, values_, kBytes));
    return in_range(ops::floor(bytes / step) * step, kBytes, values_);
  }

 private:
  ops::UniformRange values_;
  RandomPosterizationConfig config_;
};

}  // namespace

RandomPosterization::RandomPosterization(const Config& config)
    : Layer(node_from<RandomPosterizationNode>(config)) {}

RandomPosterization::RandomPosterization(const FactorRange& factor, Config config)
    : RandomPosterization(with(std::move(config), &Config::factor, factor)) {}

}  // namespace nyala
