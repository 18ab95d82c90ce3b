#include <nyala/backend/ops/image/image_transforms.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <string>

#include <nyala/backend/ops/base/dispatch.h>
#include <nyala/backend/ops/image/affine_transform.h>

namespace nyala::ops {

namespace {

using Transform = std::array<float, kTransformNumbers>;

int64_t numbers_of(ImageMotion motion) {
  return motion == ImageMotion::translation || motion == ImageMotion::crop ? 2 : 1;
}

void infer_image_transforms(InferContext& c) {
  const auto& d = c.descriptor<ImageTransformsDescriptor>();
  const Shape& numbers = c.shape(0);
  const int64_t wanted = numbers_of(d.motion);
  const bool two_zooms = d.motion == ImageMotion::zoom && numbers.rank() == 2 && numbers[1] == 2;
  if (numbers.rank() != 2 || (numbers[1] != wanted && !two_zooms) || c.dtype(0) != DType::float32)
    c.fail("expected float32 numbers (rows, " + std::to_string(wanted) + "), received " +
           std::string(name_of(c.dtype(0))) + " " + numbers.to_string());
  c.output(0, {numbers[0], kTransformNumbers}, DType::float32);
}

Transform flip(const ImageTransformsDescriptor& d, float number) {
  Transform t = {1, 0, 0, 0, 1, 0, 0, 0};
  if (!(number <= 0.5f)) return t;
  if (d.motion != ImageMotion::flip_vertical) t[0] = -1.0f, t[2] = static_cast<float>(d.width - 1);
  if (d.motion != ImageMotion::flip_horizontal) t[4] = -1.0f, t[5] = static_cast<float>(d.height - 1);
  return t;
}

Transform rotation(const ImageTransformsDescriptor& d, float degrees) {
  const float angle = degrees * static_cast<float>(std::numbers::pi / 180.0);
  const float cosine = std::cos(angle), sine = std::sin(angle);
  const float x = 0.5f * static_cast<float>(d.width - 1), y = 0.5f * static_cast<float>(d.height - 1);
  return {cosine, -sine, x - x * cosine + y * sine, sine, cosine, y - x * sine - y * cosine, 0, 0};
}

Transform zoom(const ImageTransformsDescriptor& d, float height, float width) {
  const float x = (static_cast<float>(d.width) - 1.0f) / 2.0f * (1.0f - width);
  const float y = (static_cast<float>(d.height) - 1.0f) / 2.0f * (1.0f - height);
  return {width, 0, x, 0, height, y, 0, 0};
}

Transform shift(float x, float y) { return {1, 0, x, 0, 1, y, 0, 0}; }

Transform crop(const ImageTransformsDescriptor& d, float down, float right) {
  const auto first = [](float number, int64_t choices) {
    const auto place = std::floor(number * static_cast<float>(choices));
    return std::clamp(place, 0.0f, static_cast<float>(choices - 1));
  };
  return shift(first(right, d.width - d.target_width + 1), first(down, d.height - d.target_height + 1));
}

Transform transform_of(const ImageTransformsDescriptor& d, const float* numbers, int64_t count) {
  switch (d.motion) {
    case ImageMotion::rotation:
      return rotation(d, numbers[0]);
    case ImageMotion::zoom:
      return zoom(d, numbers[0], numbers[count - 1]);
    case ImageMotion::translation:
      return shift(-numbers[1] * static_cast<float>(d.width), -numbers[0] * static_cast<float>(d.height));
    case ImageMotion::crop:
      return crop(d, numbers[0], numbers[1]);
    default:
      return flip(d, numbers[0]);
  }
}

void image_transforms_reference(const KernelCall& call) {
  const auto& d = call.descriptor<ImageTransformsDescriptor>();
  const int64_t rows = call.input(0).shape()[0], count = call.input(0).shape()[1];
  for (int64_t row = 0; row < rows; ++row)
    std::ranges::copy(transform_of(d, call.in<float>(0) + row * count, count),
                      call.out<float>(0) + row * kTransformNumbers);
}

}  // namespace

const OpDef kImageTransforms = {
    .name = "image_transforms", .infer = infer_image_transforms, .reference = image_transforms_reference};

Tensor image_transforms(const Tensor& numbers, const ImageTransformsDescriptor& descriptor) {
  return dispatch(kImageTransforms, descriptor, {&numbers});
}

}  // namespace nyala::ops
