#include <nyala/api/layers/preprocessing/image_boxes.h>

#include <algorithm>
#include <vector>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/shape/slice.h>

namespace nyala {

ImageBox detail::centred_box(int64_t height, int64_t width, int64_t target_height, int64_t target_width) {
  // Keras computes in float32, and the rounding decides about a row.
  const auto scaled = [](int64_t size, int64_t times, int64_t over) {
    return static_cast<int64_t>(static_cast<float>(size * times) / static_cast<float>(over));
  };
  ImageBox box;
  box.height = std::max<int64_t>(std::min(height, scaled(width, target_height, target_width)), 1);
  box.width = std::max<int64_t>(std::min(width, scaled(height, target_width, target_height)), 1);
  box.top = (height - box.height) / 2;
  box.left = (width - box.width) / 2;
  return box;
}

Tensor detail::cut_out(const Tensor& images, const ImageBox& box) {
  std::vector<int64_t> start(static_cast<size_t>(images.rank()), 0), shape(start.size(), -1);
  const size_t rows = start.size() - 3;
  start[rows] = box.top;
  start[rows + 1] = box.left;
  shape[rows] = box.height;
  shape[rows + 1] = box.width;
  return ops::slice(images, start, shape);
}

void detail::check_images(const Shape& images) {
  if (images.rank() != 3 && images.rank() != 4)
    throw ShapeError(
        "expected images (batch, height, width, channels) or one without the batch, received "
        "shape " +
        images.to_string());
}

Tensor detail::abstract_images(const Tensor& images, int64_t height, int64_t width) {
  const int rank = images.rank();
  return Tensor::abstract(images.shape().with(rank - 3, height).with(rank - 2, width), images.dtype(),
                          images.device());
}

}  // namespace nyala
