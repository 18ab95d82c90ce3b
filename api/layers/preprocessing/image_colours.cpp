#include <nyala/api/layers/preprocessing/image_colours.h>

#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/binary.h>
#include <nyala/backend/ops/elementwise/comparison.h>
#include <nyala/backend/ops/elementwise/rounding.h>
#include <nyala/backend/ops/reduction/reduction.h>
#include <nyala/backend/ops/shape/concatenate.h>
#include <nyala/backend/ops/shape/slice.h>

namespace nyala {

Tensor detail::grey(const Tensor& images) {
  if (images.shape().back() == 1) return images;
  const Tensor weights = Tensor::from(std::vector<float>{0.2989f, 0.5870f, 0.1140f}, {3}).to(images.device());
  return ops::sum(images * ops::cast(weights, images.dtype()), {-1}, true);
}

// Where a divisor is 0 its result is not taken; a 1 there keeps the gradient finite.
detail::HueSaturationValue detail::to_hsv(const Tensor& images) {
  const Tensors rgb = ops::split(images, 3, -1);
  const Tensor &red = rgb[0], &green = rgb[1], &blue = rgb[2];
  const Tensor value = ops::max(images, {-1}, true), width = value - ops::min(images, {-1}, true);
  const Tensor bright = value > 0.0, coloured = width > 0.0;
  const Tensor saturation = ops::where(bright, width / ops::where(bright, value, 1.0), 0.0);
  const Tensor norm = 1.0 / (ops::where(coloured, width, 1.0) * 6.0);
  const Tensor hue = ops::where(
      red == value, norm * (green - blue),
      ops::where(green == value, norm * (blue - red) + 2.0 / 6.0, norm * (red - green) + 4.0 / 6.0));
  const Tensor of_colours = ops::where(coloured, hue, 0.0);
  return {ops::where(of_colours < 0.0, of_colours + 1.0, of_colours), saturation, value};
}

Tensor detail::to_rgb(const HueSaturationValue& colours) {
  const Tensor sixths = colours.hue * 6.0, rest = 1.0 - colours.saturation;
  const auto channel = [&](const Tensor& part) {
    return (rest + colours.saturation * ops::clip(part, 0.0, 1.0)) * colours.value;
  };
  return ops::concatenate({channel(ops::abs(sixths - 3.0) - 1.0), channel(2.0 - ops::abs(sixths - 2.0)),
                           channel(2.0 - ops::abs(sixths - 4.0))},
                          -1);
}

}  // namespace nyala
