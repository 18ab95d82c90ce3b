#include <nyala/api/layers/preprocessing/image_augmentation.h>

#include <nyala/api/layers/base/arguments.h>
#include <nyala/api/layers/preprocessing/image_boxes.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/shape/shape.h>
#include <nyala/backend/ops/shape/transpose.h>

namespace nyala {

using namespace nyala::detail;

ImageAugmentation::ImageAugmentation(int64_t seed, std::string_view kind, const std::string& data_format)
    : SeededNode(seed, kind), channels_first_(data_format == "channels_first") {
  check_either_data_format(std::string(kind), data_format);
}

void ImageAugmentation::build(Builder&, const Shape& input) { check_images(input); }

Tensor ImageAugmentation::call(Call& c, const Tensor& x) const {
  const Tensor floats = ops::cast(x, compute_dtype());
  const bool one = x.rank() == 3, trains = c.training() && !x.is_abstract();
  if (c.training() && !trains) c.random_key(0);  // who looks at a graph counts draws
  if (!trains && !resizes()) return floats;
  const Tensor batch = trains && one ? ops::expand_dims(floats, 0) : floats;
  const Tensor images = channels_first_ ? ops::moveaxis(batch, -3, -1) : batch;
  const Tensor result = trains ? changed(c, images) : resized(images);
  const Tensor ordered = channels_first_ ? ops::moveaxis(result, -1, -3) : result;
  return trains && one ? ops::squeeze(ordered, {0}) : ordered;
}

Tensor ImageAugmentation::moved(const Tensor& images, const Tensor& numbers, ops::ImageMotion motion,
                                const ops::AffineOptions& options) {
  const int64_t height = images.shape()[1], width = images.shape()[2];
  const Tensor transforms =
      ops::image_transforms(numbers, {motion, height, width, options.height, options.width});
  return ops::affine_transform(images, transforms, options);
}

ops::AffineOptions detail::sampling_of(const std::string& layer, const std::string& interpolation,
                                       const std::string& fill_mode, double fill_value) {
  try {
    if (interpolation != "nearest" && interpolation != "bilinear")
      throw InvalidArgumentError("expected interpolation 'nearest' or 'bilinear', received " +
                                 in_quotes(interpolation));
    return {.interpolation = ops::detail::interpolation_of(interpolation),
            .fill_mode = ops::detail::fill_mode_of(fill_mode),
            .fill_value = fill_value};
  } catch (const Error&) {
    rethrow_with_prefix(layer + ": ");
  }
}

}  // namespace nyala
