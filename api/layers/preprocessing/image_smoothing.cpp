#include <nyala/api/layers/preprocessing/image_smoothing.h>

#include <nyala/api/layers/preprocessing/image_numbers.h>
#include <nyala/backend/ops/base/creation.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/exponential.h>
#include <nyala/backend/ops/elementwise/rounding.h>
#include <nyala/backend/ops/nn/conv2d.h>
#include <nyala/backend/ops/reduction/reduction.h>
#include <nyala/backend/ops/shape/repeat.h>
#include <nyala/backend/ops/shape/shape.h>

namespace nyala {

Tensor detail::smoothed(const Tensor& images, const Tensor& kernel) {
  const int64_t channels = images.shape().back(), rows = kernel.shape()[0], columns = kernel.shape()[1];
  const Tensor one = ops::reshape(kernel, {rows, columns, 1, 1});
  return ops::conv2d(images, ops::broadcast_to(one, {rows, columns, 1, channels}), {},
                     {.padding = "same", .groups = static_cast<int>(channels)});
}

Tensor detail::gaussian_kernel(const Size2D& size, const Tensor& sigma) {
  const auto along = [&](int64_t i, const Shape& shape) {
    const double middle = static_cast<double>(size[static_cast<size_t>(i)] - 1) / 2.0;
    const Tensor places =
        ops::arange(-middle, middle + 0.5, {.dtype = sigma.dtype(), .device = sigma.device()});
    const Tensor bell = ops::exp(ops::square(places / ops::reshape(column(sigma, i), {1})) * -0.5);
    return ops::reshape(bell / ops::sum(bell), shape);
  };
  return ops::reshape(along(1, {size[1], 1}) * along(0, {1, size[0]}), {size[0], size[1]});
}

}  // namespace nyala
