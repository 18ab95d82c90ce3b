#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/preprocessing/random_crop.h>

#include <algorithm>

#include <nyala/api/layers/base/arguments.h>
#include <nyala/api/layers/preprocessing/image_augmentation.h>
#include <nyala/api/layers/preprocessing/image_boxes.h>
#include <nyala/backend/ops/image/resize_images.h>

namespace nyala {

using namespace nyala::detail;

void RandomCropConfig::fields(FieldVisitor& v) {
  v.field("height", height);
  v.field("width", width);
  v.optional("seed", seed, -1);
  v.field("data_format", data_format);
}

namespace {

class RandomCropNode final : public ImageAugmentation {
 public:
  explicit RandomCropNode(const RandomCropConfig& config)
      : ImageAugmentation(config.seed, "RandomCrop", config.data_format), config_(config) {
    check_positive("RandomCrop", "height", config.height);
    check_positive("RandomCrop", "width", config.width);
  }
  std::string class_name() const override { return "RandomCrop"; }
  void fields(FieldVisitor& v) override { config_.fields(v); }

  ImageDrawRanges all() const override { return {{0.0, 1.0}, {0.0, 1.0}}; }
  Tensor changed(Call&, const Tensor& images, const ImageDraws& draws) const override {
    const int64_t height = images.shape()[1], width = images.shape()[2];
    if (height <= config_.height || width <= config_.width) {
      const ImageBox box = box_of_small(height, width);
      return ops::resize_images(cut_out(images, box), config_.height, config_.width);
    }
    return moved(
        images, draws.all, ops::ImageMotion::crop,
        {.interpolation = ops::Interpolation::nearest, .height = config_.height, .width = config_.width});
  }

 private:
  bool acts_always() const override { return true; }
  Tensor unmoved(const Tensor& images) const override {
    if (images.is_abstract()) return abstract_images(images, config_.height, config_.width);
    const int64_t height = images.shape()[-3], width = images.shape()[-2];
    const ImageBox box = centred_box(height, width, config_.height, config_.width);
    return ops::resize_images(cut_out(images, box), config_.height, config_.width);
  }

  /// Keras begins where a part of the right proportions would, but takes the size wanted from there.
  ImageBox box_of_small(int64_t height, int64_t width) const {
    const auto first = [](int64_t size, int64_t other, int64_t times, int64_t over) {
      const auto wanted =
          static_cast<int64_t>(static_cast<double>(other * times) / static_cast<double>(over));
      return (size - std::max<int64_t>(std::min(size, wanted), 1)) / 2;
    };
    ImageBox box;
    box.top = first(height, width, config_.height, config_.width);
    box.left = first(width, height, config_.width, config_.height);
    box.height = std::min(height - box.top, config_.height);
    box.width = std::min(width - box.left, config_.width);
    return box;
  }

  RandomCropConfig config_;
};

}  // namespace

RandomCrop::RandomCrop(const Config& config) : Layer(node_from<RandomCropNode>(config)) {}

RandomCrop::RandomCrop(int64_t height, int64_t width, Config config)
    : RandomCrop(with(std::move(config), &Config::height, height, &Config::width, width)) {}

}  // namespace nyala
