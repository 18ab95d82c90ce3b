// The weights of resizing along one axis: for each output the inputs under a filter at its centre, as a
// matrix with few entries per row. Each way is one of TensorFlow's kernels: nearest, bilinear and bicubic
// (Keys 1981, a = -1/2, from a table of 1024 steps) without antialias, ScaleAndTranslate for Lanczos and for
// antialias, whose filter is stretched where the image shrinks, ResizeArea for "area". Numbers are float32 as
// there, so that a pixel on the border between two is taken from the same one.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include <nyala/backend/ops/image/resize_images.h>

namespace nyala::ops {

namespace {

constexpr int kCubicTable = 1024;  // steps between two pixels that TensorFlow's bicubic knows

float triangle(float x) { return x < 1.0f ? 1.0f - x : 0.0f; }

/// Keys 1981 with a = -1/2.
float cubic(float x) {
  if (x >= 2.0f) return 0.0f;
  if (x >= 1.0f) return ((-0.5f * x + 2.5f) * x - 4.0f) * x + 2.0f;
  return (1.5f * x - 2.5f) * x * x + 1.0f;
}

float lanczos(float x, float radius) {
  constexpr float kPi = std::numbers::pi_v<float>;
  if (x > radius) return 0.0f;
  if (x <= 1e-3f) return 1.0f;
  return radius * std::sin(kPi * x) * std::sin(kPi * x / radius) / (kPi * kPi * x * x);
}

struct Filter {
  Interpolation kind;
  float radius() const {
    switch (kind) {
      case Interpolation::bicubic:
        return 2.0f;
      case Interpolation::lanczos3:
        return 3.0f;
      case Interpolation::lanczos5:
        return 5.0f;
      default:
        return 1.0f;
    }
  }
  float operator()(float x) const {
    if (kind == Interpolation::bilinear) return triangle(x);
    return kind == Interpolation::bicubic ? cubic(x) : lanczos(x, radius());
  }
};

void scale_to_one(float* weights, int64_t count) {
  float sum = 0.0f;
  for (int64_t k = 0; k < count; ++k) sum += weights[k];
  if (std::abs(sum) < 1000.0f * std::numeric_limits<float>::min()) return;
  for (int64_t k = 0; k < count; ++k) weights[k] /= sum;
}

/// Makes room for `taps` weights for each output.
void reserve(ResizeAxis& axis, int64_t taps) {
  axis.taps = std::min(taps, axis.input);
  axis.first.assign(static_cast<size_t>(axis.output), 0);
  axis.weights.assign(static_cast<size_t>(axis.output * axis.taps), 0.0f);
}

/// Enters the weights of output i for inputs begin, begin + 1, ..., of which those outside do not count.
void enter(ResizeAxis& axis, int64_t i, int64_t begin, const std::vector<float>& weights) {
  const int64_t count = static_cast<int64_t>(weights.size());
  const int64_t first = std::clamp<int64_t>(begin, 0, axis.input - axis.taps);
  axis.first[static_cast<size_t>(i)] = first;
  for (int64_t k = 0; k < count; ++k) {
    const int64_t place = begin + k - first;
    if (begin + k < 0 || begin + k >= axis.input || place < 0 || place >= axis.taps) continue;
    axis.weights[static_cast<size_t>(i * axis.taps + place)] = weights[static_cast<size_t>(k)];
  }
}

void fill_nearest(ResizeAxis& axis) {
  const float scale = static_cast<float>(axis.input) / static_cast<float>(axis.output);
  reserve(axis, 1);
  for (int64_t i = 0; i < axis.output; ++i) {
    const int64_t at = static_cast<int64_t>(std::floor((static_cast<float>(i) + 0.5f) * scale));
    enter(axis, i, std::clamp<int64_t>(at, 0, axis.input - 1), {1.0f});
  }
}

void fill_bilinear(ResizeAxis& axis) {
  const float scale = static_cast<float>(axis.input) / static_cast<float>(axis.output);
  reserve(axis, 2);
  for (int64_t i = 0; i < axis.output; ++i) {
    const float at = (static_cast<float>(i) + 0.5f) * scale - 0.5f;
    const float below = std::floor(at), share = at - below;
    const int64_t low = static_cast<int64_t>(below);
    if (low < 0)
      enter(axis, i, 0, {1.0f});
    else if (low >= axis.input - 1)
      enter(axis, i, axis.input - 1, {1.0f});
    else
      enter(axis, i, low, {1.0f - share, share});
  }
}

void fill_bicubic(ResizeAxis& axis) {
  const float scale = static_cast<float>(axis.input) / static_cast<float>(axis.output);
  reserve(axis, 4);
  for (int64_t i = 0; i < axis.output; ++i) {
    const float at = (static_cast<float>(i) + 0.5f) * scale - 0.5f;
    const int64_t low = static_cast<int64_t>(std::floor(at));
    const float share = static_cast<float>(std::lrint((at - std::floor(at)) * kCubicTable)) / kCubicTable;
    std::vector<float> weights = {cubic(1.0f + share), cubic(share), cubic(1.0f - share),
                                  cubic(2.0f - share)};
    for (int64_t k = 0; k < 4; ++k)
      if (low - 1 + k < 0 || low - 1 + k >= axis.input) weights[static_cast<size_t>(k)] = 0.0f;
    scale_to_one(weights.data(), 4);
    enter(axis, i, low - 1, weights);
  }
}

void fill_filtered(ResizeAxis& axis, const Filter& filter, bool antialias) {
  const float scale = static_cast<float>(axis.output) / static_cast<float>(axis.input);
  const float inverse = 1.0f / scale, stretch = antialias ? std::max(inverse, 1.0f) : 1.0f;
  const float reach = filter.radius() * stretch;
  reserve(axis, 2 * static_cast<int64_t>(std::ceil(reach)) + 1);
  std::vector<float> weights;
  for (int64_t i = 0; i < axis.output; ++i) {
    const float at = (static_cast<float>(i) + 0.5f) * inverse;
    if (at < 0.0f || at > static_cast<float>(axis.input)) continue;
    const auto bounded = [&](float place) {
      return std::clamp<int64_t>(static_cast<int64_t>(place), 0, axis.input - 1);
    };
    const int64_t begin = bounded(std::ceil(at - reach - 0.5f)),
                  last = bounded(std::floor(at + reach - 0.5f));
    weights.clear();
    for (int64_t source = begin; source <= last; ++source)
      weights.push_back(filter(std::abs((static_cast<float>(source) + 0.5f - at) * (1.0f / stretch))));
    scale_to_one(weights.data(), static_cast<int64_t>(weights.size()));
    enter(axis, i, begin, weights);
  }
}

/// Each input counts by the share of the output's stretch that it covers.
void fill_area(ResizeAxis& axis) {
  const float scale = static_cast<float>(axis.input) / static_cast<float>(axis.output);
  reserve(axis, static_cast<int64_t>(std::ceil(scale)) + 1);
  std::vector<float> weights;
  for (int64_t i = 0; i < axis.output; ++i) {
    const float low = static_cast<float>(i) * scale, high = static_cast<float>(i + 1) * scale;
    const int64_t begin = static_cast<int64_t>(std::floor(low));
    const int64_t end = std::min(static_cast<int64_t>(std::ceil(high)), axis.input);
    weights.clear();
    for (int64_t source = begin; source < end; ++source) {
      const float from = std::max(low, static_cast<float>(source));
      const float to = std::min(high, static_cast<float>(source + 1));
      weights.push_back((to - from) / scale);
    }
    enter(axis, i, begin, weights);
  }
}

void fill(ResizeAxis& axis, const ResizeOptions& options) {
  const Filter filter{options.interpolation};
  switch (options.interpolation) {
    case Interpolation::nearest:
      return fill_nearest(axis);
    case Interpolation::area:
      return fill_area(axis);
    case Interpolation::bilinear:
      return options.antialias ? fill_filtered(axis, filter, true) : fill_bilinear(axis);
    case Interpolation::bicubic:
      return options.antialias ? fill_filtered(axis, filter, true) : fill_bicubic(axis);
    default:
      return fill_filtered(axis, filter, options.antialias);
  }
}

}  // namespace

ResizeAxis::ResizeAxis(int64_t input_size, int64_t output_size, const ResizeOptions& options)
    : input(input_size), output(output_size) {
  fill(*this, options);
}

}  // namespace nyala::ops
