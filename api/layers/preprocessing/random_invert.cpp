#include <nyala/api/layers/preprocessing/random_invert.h>

#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/preprocessing/image_augmentation.h>
#include <nyala/api/layers/preprocessing/image_numbers.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/binary.h>

namespace nyala {

using namespace nyala::detail;

void RandomInvertConfig::fields(FieldVisitor& v) {
  visit_factor(v, "factor", factor);
  visit_factor(v, "value_range", value_range);
  v.optional("seed", seed, -1);
  v.field("data_format", data_format);
}

namespace {

class RandomInvertNode final : public ImageAugmentation {
 public:
  explicit RandomInvertNode(const RandomInvertConfig& config)
      : ImageAugmentation(config.seed, "RandomInvert", config.data_format), config_(config) {
    config_.factor = standard_limits("RandomInvert", config.factor, 0.0);
    two_limits("RandomInvert", "value_range", config.value_range);
  }
  std::string class_name() const override { return "RandomInvert"; }
  void fields(FieldVisitor& v) override { config_.fields(v); }

  ImageDrawRanges each() const override {
    return {two_limits("RandomInvert", "factor", config_.factor), {0.0, 1.0}};
  }
  Tensor changed(Call&, const Tensor& images, const ImageDraws& draws) const override {
    const double most = two_limits("RandomInvert", "value_range", config_.value_range).high;
    return ops::where(chosen(draws.each, 0), most - images, images);
  }

 private:
  RandomInvertConfig config_;
};

}  // namespace

RandomInvert::RandomInvert(const Config& config) : Layer(node_from<RandomInvertNode>(config)) {}

RandomInvert::RandomInvert(const FactorRange& factor, Config config)
    : RandomInvert(with(std::move(config), &Config::factor, factor)) {}

}  // namespace nyala
