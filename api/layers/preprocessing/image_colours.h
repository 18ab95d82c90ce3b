#pragma once

#include <nyala/backend/core/tensor.h>

/// Colours of images (..., height, width, 3) with red, green and blue.
namespace nyala::detail {

/// Rec. 601's luma (..., height, width, 1) with Keras' rounded weights; images of one channel as they are.
Tensor grey(const Tensor& images);

/// Hue, saturation (both 0 to 1 for colours of 0 to 1) and value, each (..., height, width, 1).
struct HueSaturationValue {
  Tensor hue, saturation, value;
};
/// As tf.image.rgb_to_hsv and its inverse; differentiable.
HueSaturationValue to_hsv(const Tensor& images);
Tensor to_rgb(const HueSaturationValue& colours);

}  // namespace nyala::detail
