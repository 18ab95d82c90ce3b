// A resize is a linear map on each axis, so its gradient is the transposed map: each output's slope is added
// to the inputs that it read, by the same weights. The reference multiplies both axes' weights in one pass;
// the CPU's kernel goes axis by axis. Integers are widened to float32 and rounded at the end.
#include <nyala/backend/ops/image/resize_images.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/base/dispatch.h>
#include <nyala/backend/ops/base/grad_context.h>
#include <nyala/backend/ops/elementwise/binary.h>
#include <nyala/backend/ops/elementwise/rounding.h>
#include <nyala/backend/ops/shape/repeat.h>
#include <nyala/backend/ops/shape/shape.h>

namespace nyala::ops {

using namespace nyala::detail;
using namespace nyala::ops::detail;

Interpolation detail::interpolation_of(std::string_view name) {
  static constexpr std::array<std::pair<std::string_view, Interpolation>, 6> kNames = {
      {{"nearest", Interpolation::nearest},
       {"bilinear", Interpolation::bilinear},
       {"bicubic", Interpolation::bicubic},
       {"lanczos3", Interpolation::lanczos3},
       {"lanczos5", Interpolation::lanczos5},
       {"area", Interpolation::area}}};
  std::vector<std::string> names;
  for (const auto& [known, kind] : kNames) {
    if (known == name) return kind;
    names.emplace_back(known);
  }
  throw InvalidArgumentError("unknown interpolation " + in_quotes(name) +
                             did_you_mean(std::string(name), names) + ": expected one of " +
                             quoted_list(names));
}

namespace {

void infer_resize(InferContext& c) {
  const auto& d = c.descriptor<ResizeDescriptor>();
  const Shape& x = c.shape(0);
  if (x.rank() != 4) c.fail("expected images (batch, height, width, channels), received " + x.to_string());
  if (x[1] == 0 || x[2] == 0) c.fail("expected images with pixels, received " + x.to_string());
  c.output(0, {x[0], d.height, d.width, x[3]}, c.dtype(0));
}

ResizeOptions options_of(const KernelCall& call) {
  const auto& d = call.descriptor<ResizeDescriptor>();
  return {d.interpolation, d.antialias};
}

/// Calls body(image position, result position, weight) in elements of one channel, for all pairs that meet.
template <class Body>
void for_each_pair(const ResizeGeometry& g, Body&& body) {
  const ResizeAxis &rows = g.rows, &columns = g.columns;
  for (int64_t image = 0; image < g.batch; ++image)
    for (int64_t y = 0; y < rows.output; ++y)
      for (int64_t x = 0; x < columns.output; ++x)
        for (int64_t tap = 0; tap < rows.taps * columns.taps; ++tap) {
          const int64_t row = tap / columns.taps, column = tap % columns.taps;
          const float weight = rows.weights[static_cast<size_t>(y * rows.taps + row)] *
                               columns.weights[static_cast<size_t>(x * columns.taps + column)];
          if (weight == 0.0f) continue;
          const int64_t from_row = image * rows.input + rows.first[static_cast<size_t>(y)] + row;
          const int64_t from = from_row * columns.input + columns.first[static_cast<size_t>(x)] + column;
          body(from * g.channels, ((image * rows.output + y) * columns.output + x) * g.channels, weight);
        }
}

void resize_reference(const KernelCall& call) {
  const ResizeGeometry g = resize_geometry(call);
  const auto run = [&]<class T>(T) {
    T* result = call.out<T>(0);
    std::fill_n(result, call.output(0).num_elements(), T(0));
    for_each_pair(g, [&](int64_t from, int64_t to, float weight) {
      for (int64_t c = 0; c < g.channels; ++c)
        result[to + c] = static_cast<T>(result[to + c] + static_cast<T>(weight) * call.in<T>(0)[from + c]);
    });
  };
  if (options_of(call).interpolation == Interpolation::nearest)
    dispatch_arithmetic(call.output(0).dtype(), call.op->name, run);
  else
    dispatch_real(call.output(0).dtype(), call.op->name, run);
}

void backward_reference(const KernelCall& call) {
  const ResizeGeometry g = resize_geometry(call);
  dispatch_real(call.output(0).dtype(), call.op->name, [&]<class T>(T) {
    T* dx = call.out<T>(0);
    std::fill_n(dx, call.output(0).num_elements(), T(0));
    for_each_pair(g, [&](int64_t from, int64_t to, float weight) {
      for (int64_t c = 0; c < g.channels; ++c) dx[from + c] += static_cast<T>(weight) * call.in<T>(0)[to + c];
    });
  });
}

/// The map is linear: its gradient is the transposed map, and that one's the map itself.
template <const OpDef& kOther>
void resize_gradient(GradContext& c) {
  auto d = c.descriptor<ResizeDescriptor>();
  d.height = c.input(0).shape()[1];
  d.width = c.input(0).shape()[2];
  c.emit(0, kOther, d, {&c.grad()});
}

/// Rounded, in the range of an integer dtype.
Tensor to_integers(const Tensor& x, DType dtype) {
  const auto bounded = [&](double low, double high) {
    const Tensor at_least = Tensor::full({}, low, x.dtype(), x.device());
    const Tensor at_most = Tensor::full({}, high, x.dtype(), x.device());
    return cast(minimum(maximum(round(x), at_least), at_most), dtype);
  };
  if (dtype == DType::uint8) return bounded(0.0, 255.0);
  if (dtype == DType::int32) return bounded(-2147483648.0, 2147483520.0);
  return cast(round(x), dtype);
}

}  // namespace

ResizeGeometry detail::resize_geometry(const KernelCall& call) {
  const bool backward = call.op == &kResizeImagesBackward;
  const Shape& images = backward ? call.output(0).shape() : call.input(0).shape();
  const Shape& result = backward ? call.input(0).shape() : call.output(0).shape();
  return {images[0], images[3], ResizeAxis(images[1], result[1], options_of(call)),
          ResizeAxis(images[2], result[2], options_of(call))};
}

const OpDef kResizeImages = {.name = "resize_images",
                             .infer = infer_resize,
                             .gradient = resize_gradient<kResizeImagesBackward>,
                             .reference = resize_reference,
                             .twice_differentiable = true};
const OpDef kResizeImagesBackward = {.name = "resize_images_backward",
                                     .infer = infer_resize,
                                     .gradient = resize_gradient<kResizeImages>,
                                     .reference = backward_reference,
                                     .twice_differentiable = true};

Tensor resize_images(const Tensor& images, int64_t height, int64_t width, const ResizeOptions& options) {
  const Shape& shape = images.shape();
  if (shape.rank() != 3 && shape.rank() != 4)
    throw ShapeError(
        "resize_images: expected (batch, height, width, channels) or (height, width, channels), "
        "received " +
        shape.to_string());
  if (height < 1 || width < 1)
    throw InvalidArgumentError("resize_images: expected a size above 0, received (" + std::to_string(height) +
                               ", " + std::to_string(width) + ")");
  if (options.crop_to_aspect_ratio && options.pad_to_aspect_ratio)
    throw InvalidArgumentError(
        "resize_images: expected one of crop_to_aspect_ratio and pad_to_aspect_ratio, received both");
  if (options.crop_to_aspect_ratio || options.pad_to_aspect_ratio)
    return resize_images(options.crop_to_aspect_ratio
                             ? crop_to_proportions(images, height, width)
                             : pad_to_proportions(images, height, width, options.fill_value),
                         height, width, {options.interpolation, options.antialias});
  if (shape.rank() == 3) return squeeze(resize_images(expand_dims(images, 0), height, width, options), {0});
  if (shape[1] == height && shape[2] == width) return detail::with_bytes_apart(images, {&images, 1});
  const bool widens = !is_floating(images.dtype()) && options.interpolation != Interpolation::nearest;
  const Tensor x = widens ? cast(images, DType::float32) : images;
  const Tensor resized = dispatch(
      kResizeImages, ResizeDescriptor{height, width, options.interpolation, options.antialias}, {&x});
  return widens ? to_integers(resized, images.dtype()) : resized;
}

}  // namespace nyala::ops
