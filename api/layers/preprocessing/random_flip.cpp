#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/preprocessing/random_flip.h>

#include <nyala/api/layers/preprocessing/image_augmentation.h>
#include <nyala/backend/core/error.h>

namespace nyala {

using namespace nyala::detail;

void RandomFlipConfig::fields(FieldVisitor& v) {
  v.field("mode", mode);
  v.optional("seed", seed, -1);
  v.field("data_format", data_format);
}

namespace {

ops::ImageMotion motion_of(const std::string& mode) {
  if (mode == "horizontal") return ops::ImageMotion::flip_horizontal;
  if (mode == "vertical") return ops::ImageMotion::flip_vertical;
  if (mode == "horizontal_and_vertical") return ops::ImageMotion::flip_both;
  const std::vector<std::string> modes = {"horizontal", "vertical", "horizontal_and_vertical"};
  throw InvalidArgumentError("RandomFlip: unknown mode " + in_quotes(mode) + did_you_mean(mode, modes) +
                             ": expected one of " + quoted_list(modes));
}

class RandomFlipNode final : public ImageAugmentation {
 public:
  explicit RandomFlipNode(const RandomFlipConfig& config)
      : ImageAugmentation(config.seed, "RandomFlip", config.data_format),
        config_(config),
        motion_(motion_of(config.mode)) {}
  std::string class_name() const override { return "RandomFlip"; }
  void fields(FieldVisitor& v) override { config_.fields(v); }

  ImageDrawRanges each() const override { return {{0.0, 1.0}}; }
  Tensor changed(Call&, const Tensor& images, const ImageDraws& draws) const override {
    return moved(images, draws.each, motion_, {.interpolation = ops::Interpolation::nearest});
  }

 private:
  RandomFlipConfig config_;
  ops::ImageMotion motion_;
};

}  // namespace

RandomFlip::RandomFlip(const Config& config) : Layer(node_from<RandomFlipNode>(config)) {}

RandomFlipConfig RandomFlip::with(std::string mode, Config config) {
  config.mode = std::move(mode);
  return config;
}

}  // namespace nyala
