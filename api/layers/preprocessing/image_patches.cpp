#include <nyala/api/layers/preprocessing/image_patches.h>

#include <nyala/backend/ops/base/creation.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/comparison.h>
#include <nyala/backend/ops/elementwise/logical.h>
#include <nyala/backend/ops/shape/shape.h>

namespace nyala {

detail::PatchSide detail::patch_side(const Tensor& ratio, const Tensor& place, int64_t length) {
  const double whole = static_cast<double>(length);
  const Tensor size = ratio * whole;
  const Tensor begin = place * (whole - size);
  return {begin, begin + size};
}

Tensor detail::in_patches(const PatchSide& columns, const PatchSide& rows, int64_t height, int64_t width) {
  const auto inside = [](const PatchSide& side, int64_t length, const Shape& along) {
    const Tensor places = ops::reshape(ops::arange(0.0, static_cast<double>(length),
                                                   {.dtype = DType::float32, .device = side.begin.device()}),
                                       along);
    const Shape each{side.begin.shape()[0], 1, 1, 1};
    return ops::logical_and(places >= ops::reshape(side.begin, each), places < ops::reshape(side.end, each));
  };
  return ops::logical_and(inside(columns, width, {1, 1, width, 1}), inside(rows, height, {1, height, 1, 1}));
}

}  // namespace nyala
