#include <nyala/api/layers/preprocessing/image_numbers.h>

#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/comparison.h>
#include <nyala/backend/ops/shape/shape.h>
#include <nyala/backend/ops/shape/slice.h>

namespace nyala {

Tensor detail::column(const Tensor& numbers, int64_t i) { return ops::slice_axis(numbers, 1, {i, i + 1}); }

Tensor detail::per_image(const Tensor& numbers, const Tensor& images) {
  return ops::reshape(ops::cast(numbers, images.dtype()), {numbers.shape()[0], 1, 1, 1});
}

Tensor detail::chosen(const Tensor& numbers, int64_t i) {
  const Tensor below = ops::less(column(numbers, i + 1), column(numbers, i));
  return ops::reshape(below, {numbers.shape()[0], 1, 1, 1});
}

Tensor detail::in_range(const Tensor& x, const ops::UniformRange& from, const ops::UniformRange& to) {
  if (from.low == to.low && from.high == to.high) return x;
  return (x - from.low) / (from.high - from.low) * (to.high - to.low) + to.low;
}

}  // namespace nyala
