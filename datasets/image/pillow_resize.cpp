// Pillow's Resample.c with its numbers: weights of each pixel of the result in double, summed to one and
// rounded to 22 bits behind the point, columns before rows, each pass rounded and cut to a byte. The filter
// is stretched where the image shrinks, so every pixel counts. Colours are multiplied by their opacity before
// and divided after. Keras' load_img resizes by Pillow; ops::resize_images is TensorFlow's.
#include <nyala/datasets/image/pillow_resize.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include <nyala/backend/core/error.h>

namespace nyala {

using namespace nyala::detail;

namespace {

constexpr int kPrecision = 32 - 8 - 2;  // bits of a weight behind the point

double sinc(double x) { return x == 0.0 ? 1.0 : std::sin(std::numbers::pi * x) / (std::numbers::pi * x); }

double hamming(double x) {
  x = std::abs(x);
  if (x >= 1.0) return 0.0;
  return sinc(x) * (0.54f + 0.46f * std::cos(std::numbers::pi * x));  // Pillow's constants are floats
}

/// Keys 1981 with a = -1/2.
double bicubic(double x) {
  constexpr double a = -0.5;
  x = std::abs(x);
  if (x < 1.0) return ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0;
  return x < 2.0 ? (((x - 5.0) * x + 8.0) * x - 4.0) * a : 0.0;
}

struct Filter {
  PillowFilter kind;

  double support() const {
    switch (kind) {
      case PillowFilter::box:
        return 0.5;
      case PillowFilter::bicubic:
        return 2.0;
      case PillowFilter::lanczos:
        return 3.0;
      default:
        return 1.0;
    }
  }
  double operator()(double x) const {
    switch (kind) {
      case PillowFilter::box:
        return x > -0.5 && x <= 0.5 ? 1.0 : 0.0;
      case PillowFilter::hamming:
        return hamming(x);
      case PillowFilter::bicubic:
        return bicubic(x);
      case PillowFilter::lanczos:
        return x >= -3.0 && x < 3.0 ? sinc(x) * sinc(x / 3.0) : 0.0;
      default:
        return std::max(0.0, 1.0 - std::abs(x));
    }
  }
};

/// A stretch of one axis, from `begin` on, that becomes `output` pixels.
struct Stretch {
  int64_t input = 0, begin = 0, length = 0, output = 0;
  bool is_whole() const { return begin == 0 && length == input && output == input; }
};

struct Taps {
  int64_t first = 0;
  std::vector<int32_t> weights = {};
};

/// The fixed-point weights of every pixel of the result.
std::vector<Taps> taps_of(const Stretch& axis, const Filter& filter) {
  const double scale = static_cast<double>(axis.length) / static_cast<double>(axis.output);
  const double widening = std::max(scale, 1.0), support = filter.support() * widening;
  std::vector<Taps> out(static_cast<size_t>(axis.output));
  std::vector<double> weights;
  for (int64_t i = 0; i < axis.output; ++i) {
    const double centre = static_cast<double>(axis.begin) + (static_cast<double>(i) + 0.5) * scale;
    const int64_t first = std::max<int64_t>(static_cast<int64_t>(centre - support + 0.5), 0);
    const int64_t end = std::min(static_cast<int64_t>(centre + support + 0.5), axis.input);
    double sum = 0.0;
    weights.clear();
    for (int64_t x = first; x < end; ++x) {
      weights.push_back(filter((static_cast<double>(x) - centre + 0.5) * (1.0 / widening)));
      sum += weights.back();
    }
    Taps& taps = out[static_cast<size_t>(i)];
    taps.first = first;
    for (double weight : weights) {
      if (sum != 0.0) weight /= sum;
      taps.weights.push_back(static_cast<int32_t>(weight * (1 << kPrecision) + (weight < 0 ? -0.5 : 0.5)));
    }
  }
  return out;
}

uint8_t clipped(int32_t sum) { return static_cast<uint8_t>(std::clamp(sum >> kPrecision, 0, 255)); }

struct Pixels {
  int64_t height = 0, width = 0, channels = 0;
  std::vector<uint8_t> bytes = {};
  Pixels(int64_t h, int64_t w, int64_t c)
      : height(h), width(w), channels(c), bytes(static_cast<size_t>(h * w * c)) {}
};

Pixels resize_columns(const Pixels& in, const Stretch& axis, const Filter& filter) {
  Pixels out(in.height, axis.output, in.channels);
  const std::vector<Taps> taps = taps_of(axis, filter);
  uint8_t* to = out.bytes.data();
  for (int64_t y = 0; y < in.height; ++y)
    for (const Taps& tap : taps) {
      const uint8_t* from = in.bytes.data() + (y * in.width + tap.first) * in.channels;
      for (int64_t c = 0; c < in.channels; ++c) {
        int32_t sum = 1 << (kPrecision - 1);
        for (size_t k = 0; k < tap.weights.size(); ++k)
          sum += from[static_cast<int64_t>(k) * in.channels + c] * tap.weights[k];
        *to++ = clipped(sum);
      }
    }
  return out;
}

Pixels resize_rows(const Pixels& in, const Stretch& axis, const Filter& filter) {
  Pixels out(axis.output, in.width, in.channels);
  const std::vector<Taps> taps = taps_of(axis, filter);
  const int64_t width = in.width * in.channels;
  std::vector<int32_t> sums(static_cast<size_t>(width));
  uint8_t* to = out.bytes.data();
  for (const Taps& tap : taps) {
    std::fill(sums.begin(), sums.end(), 1 << (kPrecision - 1));
    for (size_t k = 0; k < tap.weights.size(); ++k) {
      const uint8_t* from = in.bytes.data() + (tap.first + static_cast<int64_t>(k)) * width;
      for (int64_t x = 0; x < width; ++x) sums[static_cast<size_t>(x)] += from[x] * tap.weights[k];
    }
    for (int64_t x = 0; x < width; ++x) *to++ = clipped(sums[static_cast<size_t>(x)]);
  }
  return out;
}

Pixels resize_nearest(const Pixels& in, const Stretch& rows, const Stretch& columns) {
  const auto places = [](const Stretch& axis) {
    const double step = static_cast<double>(axis.length) / static_cast<double>(axis.output);
    std::vector<int64_t> out;
    double at = static_cast<double>(axis.begin) + step * 0.5;  // summed up as Pillow does, rounding included
    for (int64_t i = 0; i < axis.output; ++i, at += step)
      out.push_back(std::clamp<int64_t>(static_cast<int64_t>(at), 0, axis.input - 1));
    return out;
  };
  Pixels out(rows.output, columns.output, in.channels);
  const std::vector<int64_t> from_rows = places(rows), from_columns = places(columns);
  uint8_t* to = out.bytes.data();
  for (int64_t y : from_rows)
    for (int64_t x : from_columns) {
      std::memcpy(to, in.bytes.data() + (y * in.width + x) * in.channels, static_cast<size_t>(in.channels));
      to += in.channels;
    }
  return out;
}

/// Colours times their opacity, so that what cannot be seen does not shine through.
void weigh_by_opacity(Pixels& pixels) {
  for (size_t i = 0; i < pixels.bytes.size(); i += 4)
    for (size_t c = 0; c < 3; ++c) {
      const uint32_t product = uint32_t{pixels.bytes[i + c]} * pixels.bytes[i + 3] + 128;
      pixels.bytes[i + c] = static_cast<uint8_t>(((product >> 8) + product) >> 8);
    }
}

void divide_by_opacity(Pixels& pixels) {
  for (size_t i = 0; i < pixels.bytes.size(); i += 4) {
    const uint32_t opacity = pixels.bytes[i + 3];
    if (opacity == 0 || opacity == 255) continue;
    for (size_t c = 0; c < 3; ++c)
      pixels.bytes[i + c] = static_cast<uint8_t>(std::min(255u * pixels.bytes[i + c] / opacity, 255u));
  }
}

Pixels resize(Pixels pixels, const Stretch& rows, const Stretch& columns, const Filter& filter) {
  if (rows.is_whole() && columns.is_whole()) return pixels;
  if (filter.kind == PillowFilter::nearest) return resize_nearest(pixels, rows, columns);
  const bool transparent = pixels.channels == 4;
  if (transparent) weigh_by_opacity(pixels);
  if (!columns.is_whole()) pixels = resize_columns(pixels, columns, filter);
  if (!rows.is_whole()) pixels = resize_rows(pixels, rows, filter);
  if (transparent) divide_by_opacity(pixels);
  return pixels;
}

}  // namespace

PillowFilter pillow_filter_of(std::string_view name) {
  static constexpr std::array<std::pair<std::string_view, PillowFilter>, 6> kNames = {
      {{"nearest", PillowFilter::nearest},
       {"bilinear", PillowFilter::bilinear},
       {"bicubic", PillowFilter::bicubic},
       {"hamming", PillowFilter::hamming},
       {"box", PillowFilter::box},
       {"lanczos", PillowFilter::lanczos}}};
  std::vector<std::string> names;
  for (const auto& [known, filter] : kNames) {
    if (known == name) return filter;
    names.emplace_back(known);
  }
  throw InvalidArgumentError("unknown interpolation " + in_quotes(name) + did_you_mean(name, names) +
                             ": expected one of " + quoted_list(names));
}

Tensor pillow_resize(const Tensor& image, const ImageSize& size, PillowFilter filter, const PillowBox& box) {
  const Shape& shape = image.shape();
  if (image.dtype() != DType::uint8)
    throw DTypeError("pillow_resize: expected uint8, received " + std::string(name_of(image.dtype())));
  if (shape.rank() != 3 || shape.num_elements() == 0)
    throw ShapeError("pillow_resize: expected (height, width, channels) with pixels, received " +
                     shape.to_string());
  if (size.height < 1 || size.width < 1)
    throw InvalidArgumentError("pillow_resize: expected a size above 0, received (" +
                               std::to_string(size.height) + ", " + std::to_string(size.width) + ")");
  if (box.left < 0 || box.top < 0 || box.width < 1 || box.height < 1 || box.width > shape[1] - box.left ||
      box.height > shape[0] - box.top)
    throw InvalidArgumentError("pillow_resize: expected a box with pixels inside of the image " +
                               shape.to_string());
  Pixels pixels(shape[0], shape[1], shape[2]);
  const auto values = image.data<uint8_t>();
  std::copy(values.begin(), values.end(), pixels.bytes.begin());
  const Pixels out = resize(std::move(pixels), {shape[0], box.top, box.height, size.height},
                            {shape[1], box.left, box.width, size.width}, {filter});
  return Tensor::from(std::span<const uint8_t>(out.bytes), {out.height, out.width, out.channels}, Device{});
}

}  // namespace nyala
