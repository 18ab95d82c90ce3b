#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/preprocessing/random_translation.h>

#include <nyala/api/layers/preprocessing/image_augmentation.h>

namespace nyala {

using namespace nyala::detail;

void RandomTranslationConfig::fields(FieldVisitor& v) {
  visit_factor(v, "height_factor", height_factor);
  visit_factor(v, "width_factor", width_factor);
  visit_motion(v, *this);
}

namespace {

class RandomTranslationNode final : public ImageAugmentation {
 public:
  explicit RandomTranslationNode(const RandomTranslationConfig& config)
      : ImageAugmentation(config.seed, "RandomTranslation", config.data_format), config_(config) {
    height_ = motion_limits("RandomTranslation", "height_factor", config.height_factor, false);
    width_ = motion_limits("RandomTranslation", "width_factor", config.width_factor, false);
    sampling_ = sampling_of("RandomTranslation", config.interpolation, config.fill_mode, config.fill_value);
  }
  std::string class_name() const override { return "RandomTranslation"; }
  void fields(FieldVisitor& v) override { config_.fields(v); }

  ImageDrawRanges each() const override { return {height_, width_}; }
  Tensor changed(Call&, const Tensor& images, const ImageDraws& draws) const override {
    return moved(images, draws.each, ops::ImageMotion::translation, sampling_);
  }

 private:
  RandomTranslationConfig config_;
  ops::UniformRange height_, width_;
  ops::AffineOptions sampling_;
};

}  // namespace

RandomTranslation::RandomTranslation(const Config& config)
    : Layer(node_from<RandomTranslationNode>(config)) {}

RandomTranslation::RandomTranslation(const FactorRange& height_factor, const FactorRange& width_factor,
                                     Config config)
    : RandomTranslation(with(std::move(config), &Config::height_factor, height_factor, &Config::width_factor,
                             width_factor)) {}

}  // namespace nyala
