// Backwards mapping as in TensorFlow's ImageProjectiveTransformV3: the transform takes a pixel of the result
// to a place in the image, which is brought inside by the fill mode and read by its nearest or four
// neighbouring pixels. All in float32 and in TensorFlow's order, so that a place on the border between two
// pixels falls to the same one.
#include <nyala/backend/ops/image/affine_transform.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/base/dispatch.h>
#include <nyala/backend/ops/base/grad_context.h>
#include <nyala/backend/ops/shape/shape.h>

namespace nyala::ops {

using namespace nyala::detail;

FillMode detail::fill_mode_of(std::string_view name) {
  static constexpr std::array<std::pair<std::string_view, FillMode>, 4> kNames = {
      {{"constant", FillMode::constant},
       {"nearest", FillMode::nearest},
       {"wrap", FillMode::wrap},
       {"reflect", FillMode::reflect}}};
  std::vector<std::string> names;
  for (const auto& [known, mode] : kNames) {
    if (known == name) return mode;
    names.emplace_back(known);
  }
  throw InvalidArgumentError("unknown fill_mode " + in_quotes(name) + did_you_mean(std::string(name), names) +
                             ": expected one of " + quoted_list(names));
}

namespace {

constexpr float kFarthest = 1e9f;

void infer_affine(InferContext& c) {
  const auto& d = c.descriptor<AffineTransformDescriptor>();
  const Shape &x = c.shape(0), &transforms = c.shape(1);
  if (x.rank() != 4) c.fail("expected images (batch, height, width, channels), received " + x.to_string());
  if (x[1] == 0 || x[2] == 0) c.fail("expected images with pixels, received " + x.to_string());
  const bool one_each = transforms.rank() == 2 && (transforms[0] == x[0] || transforms[0] == 1 ||
                                                   transforms[0] == None || x[0] == None);
  if (!one_each || transforms[1] != kTransformNumbers || c.dtype(1) != DType::float32)
    c.fail("expected float32 transforms (1, 8) or (batch, 8) for images " + x.to_string() + ", received " +
           std::string(name_of(c.dtype(1))) + " " + transforms.to_string());
  c.output(0, {x[0], d.height, d.width, x[3]}, c.dtype(0));
}

/// Without its fraction; places are below kFarthest.
float whole(float number) { return static_cast<float>(static_cast<int64_t>(number)); }

float reflected(float place, int64_t length) {
  if (length <= 1) return 0.0f;
  const auto size = static_cast<float>(length), twice = 2.0f * size;
  if (place < 0.0f) {
    place += twice * whole(-place / twice);
    return place < -size ? place + twice : -place - 1.0f;
  }
  if (place <= size - 1.0f) return place;
  place -= twice * whole(place / twice);
  return place >= size ? twice - place - 1.0f : place;
}

float wrapped(float place, int64_t length) {
  if (length <= 1) return 0.0f;
  const auto size = static_cast<float>(length);
  if (place < 0.0f) return place + size * (whole(-place / (size - 1.0f)) + 1.0f);
  return place > size - 1.0f ? place - size * whole(place / (size - 1.0f)) : place;
}

/// Where a place is read. Reflected and wrapped ones may miss the outermost pixels by a part of one.
float brought_inside(FillMode mode, float place, int64_t length) {
  if (mode == FillMode::constant) return place;
  if (mode == FillMode::reflect) place = reflected(place, length);
  if (mode == FillMode::wrap) place = wrapped(place, length);
  return std::clamp(place, 0.0f, static_cast<float>(length - 1));
}

/// Calls body(taps, pixel of the images' first channel, pixel of the result's) for every pixel of the result.
template <class Body>
void for_each_pixel(const KernelCall& call, Body&& body) {
  const auto images = AffineSampler::images_of(call), result = AffineSampler::result_of(call);
  for (int64_t image = 0; image < result.batch; ++image) {
    const AffineSampler sampler(call, image);
    for (int64_t y = 0; y < result.height; ++y)
      for (int64_t x = 0; x < result.width; ++x)
        body(sampler.taps(x, y), image * images.height * images.width,
             ((image * result.height + y) * result.width + x) * result.channels);
  }
}

void affine_reference(const KernelCall& call) {
  const auto& d = call.descriptor<AffineTransformDescriptor>();
  const int64_t channels = AffineSampler::images_of(call).channels;
  dispatch_arithmetic(call.output(0).dtype(), call.op->name, [&]<class T>(T) {
    using Sum = std::conditional_t<std::is_same_v<T, double>, double, float>;
    const auto outside = static_cast<Sum>(static_cast<T>(d.fill_value));
    for_each_pixel(call, [&](const AffineTaps& taps, int64_t image, int64_t to) {
      for (int64_t c = 0; c < channels; ++c) {
        Sum sum = taps.fill == 0.0f ? Sum(0) : static_cast<Sum>(taps.fill) * outside;
        for (int i = 0; i < taps.count; ++i) {
          const size_t tap = static_cast<size_t>(i);
          sum += static_cast<Sum>(taps.weights[tap]) *
                 static_cast<Sum>(call.in<T>(0)[(image + taps.pixels[tap]) * channels + c]);
        }
        call.out<T>(0)[to + c] = static_cast<T>(sum);
      }
    });
  });
}

void affine_backward_reference(const KernelCall& call) {
  const int64_t channels = AffineSampler::images_of(call).channels;
  dispatch_real(call.output(0).dtype(), call.op->name, [&]<class T>(T) {
    T* dx = call.out<T>(0);
    std::fill_n(dx, call.output(0).num_elements(), T(0));
    for_each_pixel(call, [&](const AffineTaps& taps, int64_t image, int64_t from) {
      for (int i = 0; i < taps.count; ++i) {
        const size_t tap = static_cast<size_t>(i);
        for (int64_t c = 0; c < channels; ++c)
          dx[(image + taps.pixels[tap]) * channels + c] +=
              static_cast<T>(taps.weights[tap]) * call.in<T>(0)[from + c];
      }
    });
  });
}

/// The map is linear but for the fill value: its gradient is the transposed map, and that one's the map with
/// zeros outside.
template <const OpDef& kOther>
void affine_gradient(GradContext& c) {
  auto d = c.descriptor<AffineTransformDescriptor>();
  d.height = c.input(0).shape()[1];
  d.width = c.input(0).shape()[2];
  d.fill_value = 0.0;
  if (c.needs(0)) c.emit(0, kOther, d, {&c.grad(), &c.input(1)});
}

bool is_backward(const KernelCall& call) { return call.op == &kAffineTransformBackward; }

AffineSampler::Size extent_of(const Shape& shape) { return {shape[0], shape[1], shape[2], shape[3]}; }

void check_arguments(const Tensor& images, const Tensor& transforms, const AffineOptions& options) {
  const Shape& shape = images.shape();
  if (shape.rank() != 3 && shape.rank() != 4)
    throw ShapeError(
        "affine_transform: expected (batch, height, width, channels) or (height, width, channels), "
        "received " +
        shape.to_string());
  if (transforms.rank() != 1 && transforms.rank() != 2)
    throw ShapeError("affine_transform: expected transforms (batch, 8) or (8), received " +
                     transforms.shape().to_string());
  if (options.interpolation != Interpolation::bilinear && options.interpolation != Interpolation::nearest)
    throw InvalidArgumentError("affine_transform: expected interpolation 'nearest' or 'bilinear'");
  if (options.height < 0 || options.width < 0)
    throw InvalidArgumentError("affine_transform: expected a size of at least 0, received (" +
                               std::to_string(options.height) + ", " + std::to_string(options.width) + ")");
}

}  // namespace

AffineSampler::Size AffineSampler::images_of(const KernelCall& call) {
  return extent_of(is_backward(call) ? call.output(0).shape() : call.input(0).shape());
}

AffineSampler::Size AffineSampler::result_of(const KernelCall& call) {
  return extent_of(is_backward(call) ? call.input(0).shape() : call.output(0).shape());
}

AffineSampler::AffineSampler(const KernelCall& call, int64_t image)
    : transform_(call.in<float>(1) + (call.input(1).shape()[0] == 1 ? 0 : image * kTransformNumbers)),
      images_(images_of(call)),
      interpolation_(call.descriptor<AffineTransformDescriptor>().interpolation),
      fill_mode_(call.descriptor<AffineTransformDescriptor>().fill_mode) {}

AxisTap AffineSampler::tap(float place, int64_t length) const {
  if (!(std::abs(place) < kFarthest)) return {0, 0.0f, false};
  const float inside = brought_inside(fill_mode_, place, length);
  if (interpolation_ == Interpolation::nearest) return {static_cast<int64_t>(std::round(inside)), 0.0f, true};
  auto first = static_cast<int64_t>(inside);
  first -= static_cast<float>(first) > inside;  // towards -infinity
  return {first, inside - static_cast<float>(first), true};
}

AxisTaps AffineSampler::axes(int64_t column, int64_t row) const {
  const float* t = transform_;
  const auto x = static_cast<float>(column), y = static_cast<float>(row);
  float from_x = t[0] * x + t[1] * y + t[2], from_y = t[3] * x + t[4] * y + t[5];
  const float projection = t[6] * x + t[7] * y + 1.0f;
  if (projection != 1.0f) from_x /= projection, from_y /= projection;
  return {tap(from_x, images_.width), tap(from_y, images_.height)};
}

bool AffineSampler::is_separable() const {
  return transform_[1] == 0.0f && transform_[3] == 0.0f && transform_[6] == 0.0f && transform_[7] == 0.0f;
}

void AffineSampler::add(AffineTaps& taps, int64_t x, int64_t y, float weight) const {
  if (x < 0 || x >= images_.width || y < 0 || y >= images_.height) {
    taps.fill += weight;
    return;
  }
  taps.pixels[static_cast<size_t>(taps.count)] = y * images_.width + x;
  taps.weights[static_cast<size_t>(taps.count++)] = weight;
}

AffineTaps AffineSampler::taps(const AxisTaps& at) const {
  AffineTaps taps;
  if (!at.x.is_place || !at.y.is_place) {
    taps.fill = 1.0f;
    return taps;
  }
  const float right = at.x.next, below = at.y.next;
  add(taps, at.x.first, at.y.first, (1.0f - right) * (1.0f - below));
  if (interpolation_ == Interpolation::nearest) return taps;
  add(taps, at.x.first + 1, at.y.first, right * (1.0f - below));
  add(taps, at.x.first, at.y.first + 1, (1.0f - right) * below);
  add(taps, at.x.first + 1, at.y.first + 1, right * below);
  return taps;
}

const OpDef kAffineTransform = {.name = "affine_transform",
                                .infer = infer_affine,
                                .gradient = affine_gradient<kAffineTransformBackward>,
                                .keep_inputs = keep(1),
                                .reference = affine_reference,
                                .twice_differentiable = true};
const OpDef kAffineTransformBackward = {.name = "affine_transform_backward",
                                        .infer = infer_affine,
                                        .gradient = affine_gradient<kAffineTransform>,
                                        .keep_inputs = keep(1),
                                        .reference = affine_backward_reference,
                                        .twice_differentiable = true};

Tensor affine_transform(const Tensor& images, const Tensor& transforms, const AffineOptions& options) {
  check_arguments(images, transforms, options);
  if (images.rank() == 3) return squeeze(affine_transform(expand_dims(images, 0), transforms, options), {0});
  const Tensor numbers =
      cast(transforms.rank() == 1 ? expand_dims(transforms, 0) : transforms, DType::float32);
  const AffineTransformDescriptor d{options.height > 0 ? options.height : images.shape()[1],
                                    options.width > 0 ? options.width : images.shape()[2], options.fill_value,
                                    options.interpolation, options.fill_mode};
  return dispatch(kAffineTransform, d, {&images, &numbers});
}

}  // namespace nyala::ops
