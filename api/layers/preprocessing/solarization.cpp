#include <nyala/api/layers/preprocessing/solarization.h>

#include <nyala/api/layers/base/arguments.h>
#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/preprocessing/image_augmentation.h>
#include <nyala/api/layers/preprocessing/image_numbers.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/binary.h>
#include <nyala/backend/ops/elementwise/comparison.h>
#include <nyala/backend/ops/elementwise/rounding.h>

namespace nyala {

using namespace nyala::detail;

void SolarizationConfig::fields(FieldVisitor& v) {
  visit_factor(v, "addition_factor", addition_factor);
  visit_factor(v, "threshold_factor", threshold_factor);
  visit_factor(v, "value_range", value_range);
  v.optional("seed", seed, -1);
  v.field("data_format", data_format);
}

namespace {

class SolarizationNode final : public ImageAugmentation {
 public:
  explicit SolarizationNode(const SolarizationConfig& config)
      : ImageAugmentation(config.seed, "Solarization", config.data_format), config_(config) {
    config_.addition_factor = limits("addition_factor", config.addition_factor);
    config_.threshold_factor = limits("threshold_factor", config.threshold_factor);
    config_.value_range = sorted_limits("Solarization", "value_range", config.value_range);
    values_ = two_limits("Solarization", "value_range", config_.value_range);
  }
  std::string class_name() const override { return "Solarization"; }
  void fields(FieldVisitor& v) override { config_.fields(v); }

  ImageDrawRanges each() const override {
    const auto drawn = [](const FactorRange& factor) {
      return ops::UniformRange{factor.list()[0], factor.list()[1] * 255.0};
    };
    return {drawn(config_.addition_factor), drawn(config_.threshold_factor)};
  }
  Tensor changed(Call&, const Tensor& images, const ImageDraws& draws) const override {
    const Tensor bytes = in_range(images, values_, kBytes);
    const Tensor more = ops::clip(bytes + per_image(column(draws.each, 0), images), 0.0, 255.0);
    const Tensor kept = more < per_image(column(draws.each, 1), images);
    return in_range(ops::where(kept, more, 255.0 - more), kBytes, values_);
  }

 private:
  static FactorRange limits(const char* field, const FactorRange& factor) {
    for (const double number : factor.list()) check_fraction("Solarization", field, number);
    if (factor.list().size() == 1) return {0.0, factor.list()[0]};
    return sorted_limits("Solarization", field, factor);
  }

  ops::UniformRange values_;
  SolarizationConfig config_;
};

}  // namespace

Solarization::Solarization(const Config& config) : Layer(node_from<SolarizationNode>(config)) {}

}  // namespace nyala
