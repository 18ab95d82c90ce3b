#include <nyala/api/layers/preprocessing/random_perspective.h>

#include <nyala/api/layers/base/arguments.h>
#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/preprocessing/image_augmentation.h>
#include <nyala/api/layers/preprocessing/image_numbers.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/binary.h>
#include <nyala/backend/ops/shape/concatenate.h>

namespace nyala {

using namespace nyala::detail;

void RandomPerspectiveConfig::fields(FieldVisitor& v) {
  visit_factor(v, "factor", factor);
  v.field("scale", scale);
  v.field("interpolation", interpolation);
  v.field("fill_value", fill_value);
  v.optional("seed", seed, -1);
  v.field("data_format", data_format);
}

namespace {

class RandomPerspectiveNode final : public ImageAugmentation {
 public:
  explicit RandomPerspectiveNode(const RandomPerspectiveConfig& config)
      : ImageAugmentation(config.seed, "RandomPerspective", config.data_format), config_(config) {
    config_.factor = standard_limits("RandomPerspective", config.factor, 0.0);
    check_fraction("RandomPerspective", "scale", config.scale);
    sampling_ = sampling_of("RandomPerspective", config.interpolation, "constant", config.fill_value);
  }
  std::string class_name() const override { return "RandomPerspective"; }
  void fields(FieldVisitor& v) override { config_.fields(v); }

  /// The chance, what is below it or not, and (p, q) of the corners: both at 0, right, bottom, right bottom.
  ImageDrawRanges each() const override {
    ImageDrawRanges ranges = {two_limits("RandomPerspective", "factor", config_.factor), {0.0, 1.0}};
    ranges.resize(10, {-0.5 * config_.scale, 0.5 * config_.scale});
    return ranges;
  }
  Tensor changed(Call&, const Tensor& images, const ImageDraws& draws) const override {
    const Tensor transforms = transforms_of(draws.each, images.shape()[1] - 1, images.shape()[2] - 1);
    return ops::where(chosen(draws.each, 0), ops::affine_transform(images, transforms, sampling_), images);
  }

 private:
  /// Heckbert 1989, "Fundamentals of texture mapping and image warping", 2.2.3: the unit square goes to the
  /// four corners by x = a u / k, y = e v / k, k = g u + h v + 1; here, the other way around, times the
  /// sides.
  static Tensor transforms_of(const Tensor& numbers, int64_t bottom, int64_t right) {
    const auto moved = [&](int64_t i, int64_t place) {
      return (ops::cast(column(numbers, i), DType::float64) + 1.0) * static_cast<double>(place);
    };
    const Tensor x1 = moved(4, right), y3 = moved(7, bottom), x2 = moved(8, right), y2 = moved(9, bottom);
    const Tensor det = (x1 - x2) * (y3 - y2) - x2 * y2;
    const Tensor g = ((x2 - x1) * (y3 - y2) + x2 * (y2 - y3)) / det;
    const Tensor h = ((x1 - x2) * (y2 - y3) + (x2 - x1) * y2) / det;
    const Tensor a = x1 * (g + 1.0), e = y3 * (h + 1.0), zero = ops::zeros_like(a);
    const Tensors all = {static_cast<double>(right) / a,  zero, zero,   zero,
                         static_cast<double>(bottom) / e, zero, -g / a, -h / e};
    return ops::cast(ops::concatenate(all, 1), DType::float32);
  }

  ops::AffineOptions sampling_;
  RandomPerspectiveConfig config_;
};

}  // namespace

RandomPerspective::RandomPerspective(const Config& config)
    : Layer(node_from<RandomPerspectiveNode>(config)) {}

RandomPerspective::RandomPerspective(const FactorRange& factor, Config config)
    : RandomPerspective(with(std::move(config), &Config::factor, factor)) {}

}  // namespace nyala
