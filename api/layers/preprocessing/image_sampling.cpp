#include <nyala/api/layers/preprocessing/image_sampling.h>

#include <vector>

#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/base/creation.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/binary.h>
#include <nyala/backend/ops/elementwise/comparison.h>
#include <nyala/backend/ops/elementwise/logical.h>
#include <nyala/backend/ops/elementwise/rounding.h>
#include <nyala/backend/ops/shape/gather.h>
#include <nyala/backend/ops/shape/shape.h>

namespace nyala {

using namespace nyala::detail;

namespace {

/// 0, 1, ... along one axis of images, float32.
Tensor places_along(const Tensor& images, int axis) {
  Shape shape{1, 1, 1, 1};
  const int64_t size = images.shape()[axis];
  const Tensor places =
      ops::arange(0.0, static_cast<double>(size), {.dtype = DType::float32, .device = images.device()});
  return ops::reshape(places, shape.with(axis, size));
}

/// Pixels along one axis: which, whether there are any, and how much they count.
struct Tap {
  Tensor pixel, is_pixel, weight;
};

Tensor inside(const Tensor& pixel, int64_t size, ops::FillMode mode) {
  const auto last = static_cast<double>(size - 1);
  if (mode == ops::FillMode::wrap) return ops::mod(pixel, size);
  if (mode != ops::FillMode::reflect) return ops::clip(pixel, 0.0, last);
  const Tensor turn = ops::mod(ops::abs(pixel), 2 * size);
  return ops::where(turn < size, turn, 2 * size - 1 - turn);
}

std::vector<Tap> taps(const Tensor& places, int64_t size, const ops::AffineOptions& how) {
  const bool nearest = how.interpolation == ops::Interpolation::nearest;
  const Tensor first = nearest ? ops::round(places) : ops::floor(places), part = places - first;
  std::vector<Tap> out;
  for (int next = 0; next < (nearest ? 1 : 2); ++next) {
    const Tensor pixel = ops::cast(first + static_cast<double>(next), DType::int32);
    const Tensor weight = nearest ? ops::ones_like(part) : next == 0 ? 1.0 - part : part;
    out.push_back({inside(pixel, size, how.fill_mode), ops::logical_and(pixel >= 0, pixel < size), weight});
  }
  return out;
}

}  // namespace

Tensor detail::sampled_by(const Tensor& images, const Tensor& shifts, const ops::AffineOptions& how) {
  const int64_t rows = images.shape()[0], height = images.shape()[1], width = images.shape()[2];
  const Tensor pixels = ops::reshape(images, {rows * height * width, images.shape()[3]});
  const Tensor first = ops::cast(places_along(images, 0), DType::int32) * (height * width);
  Tensor sum;
  for (const Tap& y : taps(places_along(images, 1) + shifts, height, how))
    for (const Tap& x : taps(places_along(images, 2) + shifts, width, how)) {
      const Tensor index = ops::squeeze(first + y.pixel * width + x.pixel, {3});
      Tensor values = ops::take(pixels, index);
      if (how.fill_mode == ops::FillMode::constant)
        values = ops::where(ops::logical_and(y.is_pixel, x.is_pixel), values, how.fill_value);
      const Tensor part = values * ops::cast(y.weight * x.weight, images.dtype());
      sum = sum.defined() ? sum + part : part;
    }
  return sum;
}

}  // namespace nyala
