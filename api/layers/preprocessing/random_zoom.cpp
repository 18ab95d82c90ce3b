#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/preprocessing/random_zoom.h>

#include <nyala/api/layers/preprocessing/image_augmentation.h>

namespace nyala {

using namespace nyala::detail;

void RandomZoomConfig::fields(FieldVisitor& v) {
  visit_factor(v, "height_factor", height_factor);
  visit_factor(v, "width_factor", width_factor);
  visit_motion(v, *this);
}

namespace {

class RandomZoomNode final : public ImageAugmentation {
 public:
  explicit RandomZoomNode(const RandomZoomConfig& config)
      : ImageAugmentation(config.seed, "RandomZoom", config.data_format), config_(config) {
    const auto limits = [](const char* field, const FactorRange& factor) {
      const ops::UniformRange range = motion_limits("RandomZoom", field, factor, true);
      return ops::UniformRange{1.0 + range.low, 1.0 + range.high};
    };
    height_ = limits("height_factor", config.height_factor);
    if (!config.width_factor.empty()) width_ = limits("width_factor", config.width_factor);
    sampling_ = sampling_of("RandomZoom", config.interpolation, config.fill_mode, config.fill_value);
  }
  std::string class_name() const override { return "RandomZoom"; }
  void fields(FieldVisitor& v) override { config_.fields(v); }

  ImageDrawRanges each() const override {
    return config_.width_factor.empty() ? ImageDrawRanges{height_} : ImageDrawRanges{height_, width_};
  }
  Tensor changed(Call&, const Tensor& images, const ImageDraws& draws) const override {
    return moved(images, draws.each, ops::ImageMotion::zoom, sampling_);
  }

 private:
  RandomZoomConfig config_;
  ops::UniformRange height_, width_;
  ops::AffineOptions sampling_;
};

}  // namespace

RandomZoom::RandomZoom(const Config& config) : Layer(node_from<RandomZoomNode>(config)) {}

RandomZoom::RandomZoom(const FactorRange& height_factor, Config config)
    : RandomZoom(with(std::move(config), &Config::height_factor, height_factor)) {}

}  // namespace nyala
