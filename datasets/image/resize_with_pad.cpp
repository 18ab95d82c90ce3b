#include <nyala/datasets/image/resize_with_pad.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/shape/pad.h>

namespace nyala {

namespace {

/// One axis: how large the image becomes and how many zeros come before it.
struct Fit {
  int64_t size = 0, before = 0;
  Fit(float scaled, int64_t target)
      : size(std::clamp<int64_t>(static_cast<int64_t>(std::floor(scaled)), 1, target)),
        before(std::clamp<int64_t>(
            static_cast<int64_t>(std::floor((static_cast<float>(target) - scaled) / 2.0f)), 0,
            target - size)) {}
};

}  // namespace

Tensor resize_with_pad(const Tensor& images, const ImageSize& size, const ops::ResizeOptions& options) {
  const Shape& shape = images.shape();
  if ((shape.rank() != 3 && shape.rank() != 4) || shape[-3] < 1 || shape[-2] < 1)
    throw ShapeError(
        "resize_with_pad: expected (height, width, channels) with pixels, or a batch of these, received " +
        shape.to_string());
  if (size.height < 1 || size.width < 1)
    throw InvalidArgumentError("resize_with_pad: expected a size above 0, received (" +
                               std::to_string(size.height) + ", " + std::to_string(size.width) + ")");
  const float height = static_cast<float>(shape[-3]), width = static_cast<float>(shape[-2]);
  const float ratio =
      std::max(width / static_cast<float>(size.width), height / static_cast<float>(size.height));
  const Fit rows(height / ratio, size.height), columns(width / ratio, size.width);
  const Tensor fitted = ops::resize_images(images, rows.size, columns.size, options);
  std::vector<std::pair<int64_t, int64_t>> widths(static_cast<size_t>(shape.rank()), {0, 0});
  widths[widths.size() - 3] = {rows.before, size.height - rows.size - rows.before};
  widths[widths.size() - 2] = {columns.before, size.width - columns.size - columns.before};
  return ops::pad(fitted, widths);
}

}  // namespace nyala
