#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/image/resize_images.h>
#include <nyala/backend/ops/shape/pad.h>
#include <nyala/backend/ops/shape/slice.h>

namespace nyala::ops {

namespace {

/// size * times / over in float32, as in Keras: the rounding decides about a row.
int64_t scaled(int64_t size, int64_t times, int64_t over) {
  return static_cast<int64_t>(static_cast<float>(size * times) / static_cast<float>(over));
}

void check(const Tensor& images, int64_t height, int64_t width) {
  const Shape& shape = images.shape();
  if (shape.rank() < 3 || shape[-3] < 1 || shape[-2] < 1)
    throw ShapeError("resize_images: expected images with pixels, received " + shape.to_string());
  if (height < 1 || width < 1)
    throw InvalidArgumentError("resize_images: expected proportions above 0, received " +
                               std::to_string(height) + " : " + std::to_string(width));
}

}  // namespace

Tensor crop_to_proportions(const Tensor& images, int64_t height, int64_t width) {
  check(images, height, width);
  const int64_t rows = images.shape()[-3], columns = images.shape()[-2];
  const int64_t cut_rows = std::max<int64_t>(std::min(rows, scaled(columns, height, width)), 1);
  const int64_t cut_columns = std::max<int64_t>(std::min(columns, scaled(rows, width, height)), 1);
  std::vector<int64_t> start(static_cast<size_t>(images.rank()), 0), shape(start.size(), -1);
  const size_t axis = start.size() - 3;
  start[axis] = (rows - cut_rows) / 2;
  start[axis + 1] = (columns - cut_columns) / 2;
  shape[axis] = cut_rows;
  shape[axis + 1] = cut_columns;
  return slice(images, start, shape);
}

Tensor pad_to_proportions(const Tensor& images, int64_t height, int64_t width, double value) {
  check(images, height, width);
  const int64_t rows = images.shape()[-3], columns = images.shape()[-2];
  const int64_t above = (std::max(rows, scaled(columns, height, width)) - rows) / 2;
  const int64_t left = (std::max(columns, scaled(rows, width, height)) - columns) / 2;
  std::vector<std::pair<int64_t, int64_t>> widths(static_cast<size_t>(images.rank()), {0, 0});
  widths[widths.size() - 3] = {above, above};
  widths[widths.size() - 2] = {left, left};
  return pad(images, widths, "constant", value);
}

}  // namespace nyala::ops
