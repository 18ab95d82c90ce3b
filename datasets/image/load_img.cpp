#include <nyala/datasets/image/load_img.h>

#include <algorithm>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/datasets/image/decode_image.h>
#include <nyala/datasets/image/pillow_resize.h>

namespace nyala {

using namespace nyala::detail;

namespace {

/// The largest box in the middle with the target's proportions, in whole numbers as Keras finds it.
PillowBox middle_of(int64_t height, int64_t width, const ImageSize& target) {
  const int64_t cut_height = std::min(height, width * target.height / target.width);
  const int64_t cut_width = std::min(width, height * target.width / target.height);
  return {(width - cut_width) / 2, (height - cut_height) / 2, cut_width, cut_height};
}

Tensor resized(const Tensor& image, const LoadImgConfig& config, PillowFilter filter,
               const std::filesystem::path& path) {
  const ImageSize& target = config.target_size;
  const int64_t height = image.shape()[0], width = image.shape()[1];
  if (target == ImageSize{} || target == ImageSize{height, width}) return image;
  if (!config.keep_aspect_ratio) return pillow_resize(image, target, filter, {0, 0, width, height});
  const PillowBox box = middle_of(height, width, target);
  if (box.width < 1 || box.height < 1)
    throw InvalidArgumentError("load_img: " + path.string() + ", " + std::to_string(height) + " x " +
                               std::to_string(width) + ", has no pixels in the proportions of (" +
                               std::to_string(target.height) + ", " + std::to_string(target.width) + ")");
  return pillow_resize(image, target, filter, box);
}

}  // namespace

Tensor load_img(const std::filesystem::path& path, const LoadImgConfig& config) {
  const int64_t channels = channels_of_color_mode(config.color_mode, "load_img");
  const ImageSize& target = config.target_size;
  if (!(target == ImageSize{}) && (target.height < 1 || target.width < 1))
    throw InvalidArgumentError("load_img: expected a target_size above 0, received (" +
                               std::to_string(target.height) + ", " + std::to_string(target.width) + ")");
  if (config.dtype != "float32" && config.dtype != "uint8")
    throw InvalidArgumentError("load_img: expected dtype 'float32' or 'uint8', received '" + config.dtype +
                               "'");
  PillowFilter filter = PillowFilter::nearest;
  try {
    filter = pillow_filter_of(config.interpolation);
  } catch (const Error&) {
    rethrow_with_prefix("load_img: ");
  }
  const Tensor image = resized(decode_image_file(path, {.channels = channels}), config, filter, path);
  return ops::cast(image, parse_dtype(config.dtype));
}

}  // namespace nyala
