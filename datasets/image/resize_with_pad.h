#pragma once

#include <nyala/backend/ops/image/resize_images.h>
#include <nyala/datasets/image/image_size.h>

namespace nyala {

/// Images (height, width, channels), or a batch of them, made as large as fits into `size` with their
/// proportions kept, in the middle of zeros: TensorFlow's tf.image.resize_with_pad, which Keras' image
/// datasets use. (The layers and ops::resize_images pad first and resize then.) Sizes are rounded down, but
/// not below 1.
Tensor resize_with_pad(const Tensor& images, const ImageSize& size, const ops::ResizeOptions& options = {});

}  // namespace nyala
