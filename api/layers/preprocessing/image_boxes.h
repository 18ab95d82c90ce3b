#pragma once

#include <nyala/backend/core/tensor.h>

namespace nyala {

/// A part of images (..., height, width, channels): rows from `top` on, columns from `left` on.
struct ImageBox {
  int64_t top = 0, left = 0, height = 0, width = 0;
};

namespace detail {

/// The largest box in the middle of images of `height` x `width` that has the proportions of a target, as
/// Keras finds it.
ImageBox centred_box(int64_t height, int64_t width, int64_t target_height, int64_t target_width);

Tensor cut_out(const Tensor& images, const ImageBox& box);

/// Throws ShapeError unless the images are (batch, height, width, channels) or (height, width, channels).
void check_images(const Shape& images);

/// Images of another height and width, for graphs that are being traced.
Tensor abstract_images(const Tensor& images, int64_t height, int64_t width);

}  // namespace detail

}  // namespace nyala
