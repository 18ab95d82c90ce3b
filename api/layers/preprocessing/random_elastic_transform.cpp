#include <nyala/api/layers/preprocessing/random_elastic_transform.h>

#include <algorithm>

#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/preprocessing/image_augmentation.h>
#include <nyala/api/layers/preprocessing/image_numbers.h>
#include <nyala/api/layers/preprocessing/image_sampling.h>
#include <nyala/api/layers/preprocessing/image_smoothing.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/binary.h>
#include <nyala/backend/ops/elementwise/rounding.h>

namespace nyala {

using namespace nyala::detail;

void RandomElasticTransformConfig::fields(FieldVisitor& v) {
  visit_factor(v, "factor", factor);
  visit_factor(v, "scale", scale);
  v.field("interpolation", interpolation);
  v.field("fill_mode", fill_mode);
  v.field("fill_value", fill_value);
  visit_factor(v, "value_range", value_range);
  v.optional("seed", seed, -1);
  v.field("data_format", data_format);
}

namespace {

class RandomElasticTransformNode final : public ImageAugmentation {
 public:
  explicit RandomElasticTransformNode(const RandomElasticTransformConfig& config)
      : ImageAugmentation(config.seed, "RandomElasticTransform", config.data_format), config_(config) {
    config_.factor = standard_limits("RandomElasticTransform", config.factor, 0.0);
    config_.scale = standard_limits("RandomElasticTransform", config.scale, 0.0, 1.0, "scale");
    values_ = two_limits("RandomElasticTransform", "value_range", config.value_range);
    sampling_ =
        sampling_of("RandomElasticTransform", config.interpolation, config.fill_mode, config.fill_value);
  }
  std::string class_name() const override { return "RandomElasticTransform"; }
  void fields(FieldVisitor& v) override { config_.fields(v); }

  ImageDrawRanges each() const override {
    return {two_limits("RandomElasticTransform", "factor", config_.factor), {0.0, 1.0}};
  }
  ImageDrawRanges all() const override {
    return {two_limits("RandomElasticTransform", "scale", config_.scale)};
  }
  Shape normal_shape(const Shape& images) const override { return images.with(images.rank() - 1, 1); }
  Tensor changed(Call&, const Tensor& images, const ImageDraws& draws) const override {
    if (config_.scale.list()[1] == 0.0 || config_.factor.list()[1] == 0.0) return images;
    const Tensor moved = sampled_by(images, shifts(images, draws), sampling_);
    return ops::clip(ops::where(chosen(draws.each, 0), moved, images), values_.low, values_.high);
  }

 private:
  /// (rows, height, width, 1), float32.
  static Tensor shifts(const Tensor& images, const ImageDraws& draws) {
    const int64_t height = images.shape()[1], width = images.shape()[2];
    const double strength = draws.all.item();
    const double alpha = static_cast<double>(std::max(height, width)) * 0.1 * strength,
                 sigma = static_cast<double>(std::min(height, width)) * 0.05 * strength;
    const Tensor noise = ops::cast(draws.normal, DType::float32) * sigma;
    const int64_t size = 6 * static_cast<int64_t>(sigma) + 1;
    if (size == 1) return noise * alpha;
    const Tensor deviations = Tensor::full({1, 2}, sigma, DType::float32, images.device());
    return smoothed(noise, gaussian_kernel(Size2D(size), deviations)) * alpha;
  }

  ops::UniformRange values_;
  ops::AffineOptions sampling_;
  RandomElasticTransformConfig config_;
};

}  // namespace

RandomElasticTransform::RandomElasticTransform(const Config& config)
    : Layer(node_from<RandomElasticTransformNode>(config)) {}

RandomElasticTransform::RandomElasticTransform(const FactorRange& factor, Config config)
    : RandomElasticTransform(with(std::move(config), &Config::factor, factor)) {}

}  // namespace nyala
