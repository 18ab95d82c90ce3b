#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/preprocessing/random_rotation.h>

#include <nyala/api/layers/preprocessing/image_augmentation.h>

namespace nyala {

using namespace nyala::detail;

void RandomRotationConfig::fields(FieldVisitor& v) {
  visit_factor(v, "factor", factor);
  visit_motion(v, *this);
}

namespace {

class RandomRotationNode final : public ImageAugmentation {
 public:
  explicit RandomRotationNode(const RandomRotationConfig& config)
      : ImageAugmentation(config.seed, "RandomRotation", config.data_format), config_(config) {
    config_.factor = standard_limits("RandomRotation", config.factor, -1.0);
    sampling_ = sampling_of("RandomRotation", config.interpolation, config.fill_mode, config.fill_value);
  }
  std::string class_name() const override { return "RandomRotation"; }
  void fields(FieldVisitor& v) override { config_.fields(v); }

  ImageDrawRanges each() const override {
    const auto [lower, upper] = two_limits("RandomRotation", "factor", config_.factor);
    return {{lower * 360.0, upper * 360.0}};
  }
  Tensor changed(Call&, const Tensor& images, const ImageDraws& draws) const override {
    return moved(images, draws.each, ops::ImageMotion::rotation, sampling_);
  }

 private:
  RandomRotationConfig config_;
  ops::AffineOptions sampling_;
};

}  // namespace

RandomRotation::RandomRotation(const Config& config) : Layer(node_from<RandomRotationNode>(config)) {}

RandomRotation::RandomRotation(const FactorRange& factor, Config config)
    : RandomRotation(with(std::move(config), &Config::factor, factor)) {}

}  // namespace nyala
