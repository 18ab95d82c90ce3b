#include <nyala/api/layers/preprocessing/random_shear.h>

#include <nyala/api/layers/base/arguments.h>
#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/preprocessing/image_augmentation.h>
#include <nyala/api/layers/preprocessing/image_numbers.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/binary.h>
#include <nyala/backend/ops/elementwise/comparison.h>
#include <nyala/backend/ops/shape/concatenate.h>

namespace nyala {

using namespace nyala::detail;

void RandomShearConfig::fields(FieldVisitor& v) {
  visit_factor(v, "x_factor", x_factor);
  visit_factor(v, "y_factor", y_factor);
  v.field("interpolation", interpolation);
  v.field("fill_mode", fill_mode);
  v.field("fill_value", fill_value);
  v.field("data_format", data_format);
  v.optional("seed", seed, -1);
}

namespace {

class RandomShearNode final : public ImageAugmentation {
 public:
  explicit RandomShearNode(const RandomShearConfig& config)
      : ImageAugmentation(config.seed, "RandomShear", config.data_format), config_(config) {
    config_.x_factor = limits("x_factor", config.x_factor);
    config_.y_factor = limits("y_factor", config.y_factor);
    sampling_ = sampling_of("RandomShear", config.interpolation, config.fill_mode, config.fill_value);
  }
  std::string class_name() const override { return "RandomShear"; }
  void fields(FieldVisitor& v) override { config_.fields(v); }

  ImageDrawRanges each() const override {
    return {{0.0, 1.0},
            two_limits("RandomShear", "y_factor", config_.y_factor),
            two_limits("RandomShear", "x_factor", config_.x_factor)};
  }
  Tensor changed(Call&, const Tensor& images, const ImageDraws& draws) const override {
    const Tensor sign = ops::where(column(draws.each, 0) > 0.5, -1.0f, Tensor(1.0f));
    const Tensor one = ops::ones_like(sign), zero = ops::zeros_like(sign);
    const Tensors numbers = {
        one, sign * column(draws.each, 2), zero, sign * column(draws.each, 1), one, zero, zero, zero};
    return ops::affine_transform(images, ops::concatenate(numbers, 1), sampling_);
  }

 private:
  static FactorRange limits(const char* field, const FactorRange& factor) {
    const std::vector<double>& given = factor.list();
    if (given.size() == 2 && given[0] == -given[1] && given[1] >= 0.0 && given[1] <= 1.0) return factor;
    for (const double number : given) check_fraction("RandomShear", field, number);
    if (given.size() == 1) return {-given[0], given[0]};
    return sorted_limits("RandomShear", field, factor);
  }

  ops::AffineOptions sampling_;
  RandomShearConfig config_;
};

}  // namespace

RandomShear::RandomShear(const Config& config) : Layer(node_from<RandomShearNode>(config)) {}

RandomShear::RandomShear(const FactorRange& x_factor, const FactorRange& y_factor, Config config)
    : RandomShear(with(std::move(config), &Config::x_factor, x_factor, &Config::y_factor, y_factor)) {}

}  // namespace nyala
