#include <nyala/api/layers/preprocessing/random_gaussian_blur.h>

#include <nyala/api/layers/base/arguments.h>
#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/preprocessing/image_augmentation.h>
#include <nyala/api/layers/preprocessing/image_numbers.h>
#include <nyala/api/layers/preprocessing/image_smoothing.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/binary.h>
#include <nyala/backend/ops/elementwise/rounding.h>

namespace nyala {

using namespace nyala::detail;

void RandomGaussianBlurConfig::fields(FieldVisitor& v) {
  visit_factor(v, "factor", factor);
  visit_size(v, "kernel_size", kernel_size);
  visit_factor(v, "sigma", sigma);
  visit_factor(v, "value_range", value_range);
  v.field("data_format", data_format);
  v.optional("seed", seed, -1);
}

namespace {

class RandomGaussianBlurNode final : public ImageAugmentation {
 public:
  explicit RandomGaussianBlurNode(const RandomGaussianBlurConfig& config)
      : ImageAugmentation(config.seed, "RandomGaussianBlur", config.data_format), config_(config) {
    config_.factor = standard_limits("RandomGaussianBlur", config.factor, 0.0);
    config_.sigma = standard_limits("RandomGaussianBlur", config.sigma, 0.0, 1.0, "sigma");
    check_positive("RandomGaussianBlur", "kernel_size", config.kernel_size);
    if (config.kernel_size[0] % 2 == 0 || config.kernel_size[1] % 2 == 0)
      throw InvalidArgumentError("RandomGaussianBlur: expected an odd kernel_size, received " +
                                 config.kernel_size.to_string());
    values_ = two_limits("RandomGaussianBlur", "value_range", config.value_range);
  }
  std::string class_name() const override { return "RandomGaussianBlur"; }
  void fields(FieldVisitor& v) override { config_.fields(v); }

  ImageDrawRanges each() const override {
    return {two_limits("RandomGaussianBlur", "factor", config_.factor), {0.0, 1.0}};
  }
  ImageDrawRanges all() const override {
    const ops::UniformRange sigma = two_limits("RandomGaussianBlur", "sigma", config_.sigma);
    return {sigma, sigma};
  }
  Tensor changed(Call&, const Tensor& images, const ImageDraws& draws) const override {
    const Tensor blurred =
        smoothed(images, gaussian_kernel(config_.kernel_size, ops::cast(draws.all + 1e-6, images.dtype())));
    return ops::clip(ops::where(chosen(draws.each, 0), blurred, images), values_.low, values_.high);
  }

 private:
  ops::UniformRange values_;
  RandomGaussianBlurConfig config_;
};

}  // namespace

RandomGaussianBlur::RandomGaussianBlur(const Config& config)
    : Layer(node_from<RandomGaussianBlurNode>(config)) {}

RandomGaussianBlur::RandomGaussianBlur(const FactorRange& factor, Config config)
    : RandomGaussianBlur(with(std::move(config), &Config::factor, factor)) {}

}  // namespace nyala
