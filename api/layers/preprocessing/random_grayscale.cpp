#include <nyala/api/layers/preprocessing/random_grayscale.h>

#include <nyala/api/layers/base/arguments.h>
#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/preprocessing/image_augmentation.h>
#include <nyala/api/layers/preprocessing/image_colours.h>
#include <nyala/api/layers/preprocessing/image_numbers.h>
#include <nyala/backend/ops/elementwise/binary.h>
#include <nyala/backend/ops/elementwise/comparison.h>
#include <nyala/backend/ops/shape/shape.h>

namespace nyala {

using namespace nyala::detail;

void RandomGrayscaleConfig::fields(FieldVisitor& v) {
  v.field("factor", factor);
  v.field("data_format", data_format);
  v.optional("seed", seed, -1);
}

namespace {

class RandomGrayscaleNode final : public ImageAugmentation {
 public:
  explicit RandomGrayscaleNode(const RandomGrayscaleConfig& config)
      : ImageAugmentation(config.seed, "RandomGrayscale", config.data_format), config_(config) {
    check_fraction("RandomGrayscale", "factor", config.factor);
  }
  std::string class_name() const override { return "RandomGrayscale"; }
  void fields(FieldVisitor& v) override { config_.fields(v); }

  void build(Builder& b, const Shape& input) override {
    ImageAugmentation::build(b, input);
    check_channels(input, {1, 3});
  }

  ImageDrawRanges each() const override { return {{0.0, 1.0}}; }
  Tensor changed(Call&, const Tensor& images, const ImageDraws& draws) const override {
    const Tensor chosen = ops::reshape(ops::less(draws.each, config_.factor), {images.shape()[0], 1, 1, 1});
    return ops::where(chosen, grey(images), images);
  }

 private:
  RandomGrayscaleConfig config_;
};

}  // namespace

RandomGrayscale::RandomGrayscale(const Config& config) : Layer(node_from<RandomGrayscaleNode>(config)) {}

RandomGrayscale::RandomGrayscale(double factor, Config config)
    : RandomGrayscale(with(std::move(config), &Config::factor, factor)) {}

}  // namespace nyala
