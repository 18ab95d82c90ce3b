// Shifted products of matrices (Vasudevan, Anderson and Gregg 2017, "kn2row"): for each tap what the windows
// read with it is gathered, multiplied by that tap's (channels, filters) and added to the windows. Only
// windows whose tap lies on the image take part: of the products of a 3x3 kernel with padding "same" that is
// 69 % on images of 4x4 and 44 % on 2x2; im2col and oneDNN's blocks multiply the zeros, too. Where all
// windows have a tap, its product writes instead of adding. Many channels make the products efficient; the
// bounds are measured.
#include <algorithm>
#include <limits>

#include <nyala/backend/kernels/cpu/convolution/shifted_gemm.h>
#include <nyala/backend/kernels/cpu/onednn/onednn.h>
#include <nyala/backend/ops/base/kernel_table.h>
#include <nyala/backend/ops/nn/conv2d.h>
#include <nyala/backend/runtime/parallel.h>

namespace nyala {

namespace {

/// Windows of one axis, [first, end), in which a tap lies on the image; that of window o at o * stride + at.
struct Windows {
  int64_t first, end, stride, at;
  int64_t count() const { return std::max<int64_t>(end - first, 0); }

  static int64_t ceiling(int64_t a, int64_t b) { return a <= 0 ? 0 : (a + b - 1) / b; }
};

/// A tap of the kernel and the windows that read the image with it.
struct Tap {
  Windows y, x;
  int64_t pixels() const { return y.count() * x.count(); }
};

struct Work {
  ops::ConvolutionGeometry g;

  explicit Work(const KernelCall& call) : g(ops::detail::convolution_geometry(call)) {}
  int64_t taps() const { return g.kernel_height * g.kernel_width; }
  int64_t windows() const { return g.out_height * g.out_width; }
  int64_t image_size() const { return g.height * g.width * g.channels; }
  int64_t result_size() const { return windows() * g.out_channels; }

  Tap tap(int64_t index) const {
    const auto axis = [&](size_t i, int64_t k, int64_t pad, int64_t size, int64_t out) {
      const int64_t stride = g.strides[i], at = k * g.dilation[i] - pad;
      return Windows{Windows::ceiling(-at, stride), std::min(out, Windows::ceiling(size - at, stride)),
                     stride, at};
    };
    return {axis(0, index / g.kernel_width, g.pad_top, g.height, g.out_height),
            axis(1, index % g.kernel_width, g.pad_left, g.width, g.out_width)};
  }
  /// Whether all windows read the image with this tap.
  bool whole(const Tap& tap) const { return tap.pixels() == windows(); }
  /// Whether what they read is the image as it lies.
  bool in_place(const Tap& tap) const {
    return whole(tap) && tap.y.at == 0 && tap.x.at == 0 && tap.y.stride == 1 && tap.x.stride == 1 &&
           g.out_height == g.height && g.out_width == g.width;
  }

  /// What the windows of image `n` read with the tap.
  void gather(const Tap& tap, const float* image, float* rows) const {
    for (int64_t y = tap.y.first; y < tap.y.end; ++y) {
      const float* line = image + (y * tap.y.stride + tap.y.at) * g.width * g.channels;
      for (int64_t x = tap.x.first; x < tap.x.end; ++x, rows += g.channels)
        std::copy_n(line + (x * tap.x.stride + tap.x.at) * g.channels, g.channels, rows);
    }
  }
  /// The results (or gradients) of those windows of one image, line by line; calls body(first, floats).
  template <class Body>
  void for_each_line(const Tap& tap, Body&& body) const {
    for (int64_t y = tap.y.first; y < tap.y.end; ++y)
      body((y * g.out_width + tap.x.first) * g.out_channels, tap.x.count() * g.out_channels);
  }
};

const char* unsupported_any(const KernelCall& call) {
  constexpr int64_t kManyChannels = 256, kManyRows = 256;
  constexpr double kMostRead = 0.75, kMostReadByMany = 0.85;  // of the taps
  const Work work(call);
  const ops::ConvolutionGeometry& g = work.g;
  if (call.output(0).dtype() != DType::float32) return "float32 only";
  if (g.groups != 1 || work.taps() == 1) return "groups or a single tap";
  const int64_t least = std::min(g.channels, g.out_channels);
  if (least < kManyChannels || g.batch * work.windows() < kManyRows)
    return "oneDNN is faster for few channels or windows";
  int64_t read = 0;
  for (int64_t i = 0; i < work.taps(); ++i) read += work.tap(i).pixels();
  const double part = static_cast<double>(read) / static_cast<double>(work.taps() * work.windows());
  if (part > (least < 2 * kManyChannels ? kMostRead : kMostReadByMany))
    return "oneDNN is faster where windows lie on the image";
  return nullptr;
}

size_t workspace(const KernelCall& call) {
  const Work work(call);
  return static_cast<size_t>(work.g.batch * work.windows() * (work.g.channels + work.g.out_channels)) *
         sizeof(float);
}

// ---- forward: images are shared out

const char* unsupported_forward(const KernelCall& call) {
  const ops::Activation activation = ops::detail::convolution_activation(call);
  if (activation == ops::Activation::sigmoid || activation == ops::Activation::tanh)
    return "no sigmoid or tanh";
  return unsupported_any(call);
}

/// The images of one thread; `space` is its part of the workspace.
struct Images {
  int64_t count;
  const float* x;
  float *y, *space;
};

/// The product of what windows read with tap `index` and its part of the kernel, written to y or added to it.
void forward_tap(const Work& work, const Images& images, int64_t index, const float* kernel, bool writes) {
  const ops::ConvolutionGeometry& g = work.g;
  const Tap tap = work.tap(index);
  const int64_t pixels = tap.pixels(), channels = g.channels, filters = g.out_channels;
  if (pixels == 0) return;
  float* product = images.space + images.count * work.windows() * channels;
  if (!work.in_place(tap))
    for (int64_t n = 0; n < images.count; ++n)
      work.gather(tap, images.x + n * work.image_size(), images.space + n * pixels * channels);
  onednn::multiply({.rows = images.count * pixels, .inner = channels, .columns = filters}, 1.0f,
                   {{work.in_place(tap) ? images.x : images.space, channels},
                    {kernel + index * channels * filters, filters},
                    {writes ? images.y : product, filters}});
  if (writes) return;
  for (int64_t n = 0; n < images.count; ++n)
    work.for_each_line(tap, [&](int64_t first, int64_t floats) {
      float* y = images.y + n * work.result_size() + first;
      for (int64_t i = 0; i < floats; ++i) y[i] += product[i];
      product += floats;
    });
}

/// activation(y + bias) for rows of results, as sums of products leave them.
void finish(const KernelCall& call, float* y, int64_t rows) {
  const ops::Activation activation = ops::detail::convolution_activation(call);
  const float* bias = call.inputs.size() > 2 ? call.in<float>(2) : nullptr;
  if (!bias && activation == ops::Activation::linear) return;
  const int64_t filters = call.output(0).shape().back();
  const float lowest = activation == ops::Activation::linear ? -std::numeric_limits<float>::infinity() : 0.0f;
  const float highest = activation == ops::Activation::relu6 ? 6.0f : std::numeric_limits<float>::infinity();
  for (int64_t row = 0; row < rows; ++row, y += filters)
    for (int64_t o = 0; o < filters; ++o) {
      const float z = bias ? y[o] + bias[o] : y[o];
      y[o] = z < lowest ? lowest : z > highest ? highest : z;
    }
}

void forward(const KernelCall& call) {
  const Work work(call);
  const int64_t batch = work.g.batch, row = work.windows() * (work.g.channels + work.g.out_channels);
  const bool adds = call.op == &ops::kConv2DOnto;
  int64_t start = adds ? work.taps() : 0;  // a tap that all windows have: it writes
  while (start < work.taps() && !work.whole(work.tap(start))) ++start;
  onednn::prepare_multiply();
  const int64_t parts = std::min<int64_t>(batch, compute_threads());
  parallel_for(parts, 1, [&](int64_t part, int64_t) {
    const int64_t first = part * batch / parts, last = (part + 1) * batch / parts;
    const Images images{last - first, call.in<float>(0) + first * work.image_size(),
                        call.out<float>(0) + first * work.result_size(),
                        call.workspace.raw_as<float>() + first * row};
    if (start < work.taps())
      forward_tap(work, images, start, call.in<float>(1), true);
    else if (!adds)
      std::fill_n(images.y, images.count * work.result_size(), 0.0f);
    for (int64_t i = 0; i < work.taps(); ++i)
      if (i != start) forward_tap(work, images, i, call.in<float>(1), false);
    finish(call, images.y, images.count * work.windows());
  });
}

// ---- gradient of the kernel: filters are shared out

void kernel_tap(const KernelCall& call, const Work& work, int64_t index) {
  const ops::ConvolutionGeometry& g = work.g;
  const Tap tap = work.tap(index);
  const int64_t pixels = tap.pixels(), channels = g.channels, filters = g.out_channels;
  float* out = call.out<float>(0) + index * channels * filters;
  if (pixels == 0) return std::fill_n(out, channels * filters, 0.0f), void();
  const float *x = call.in<float>(0), *dz = call.in<float>(1);
  float* read = call.workspace.raw_as<float>();
  float* gradients = read + g.batch * work.windows() * channels;
  const bool in_place = work.in_place(tap), whole = work.whole(tap);
  if (!in_place)
    parallel_for(g.batch, 1, [&](int64_t n, int64_t) {
      work.gather(tap, x + n * work.image_size(), read + n * pixels * channels);
      if (whole) return;
      float* to = gradients + n * pixels * filters;
      work.for_each_line(tap, [&](int64_t first, int64_t floats) {
        to = std::copy_n(dz + n * work.result_size() + first, floats, to);
      });
    });
  const int64_t parts = std::clamp<int64_t>(filters / 64, 1, compute_threads());
  parallel_for(parts, 1, [&](int64_t part, int64_t) {
    const int64_t first = part * filters / parts, end = (part + 1) * filters / parts;
    onednn::multiply(
        {.rows = channels, .inner = g.batch * pixels, .columns = end - first, .transpose_a = true}, 1.0f,
        {{in_place ? x : read, channels},
         {(whole ? dz : gradients) + first, filters},
         {out + first, filters}});
  });
}

void backward_kernel(const KernelCall& call) {
  const Work work(call);
  onednn::prepare_multiply();
  for (int64_t i = 0; i < work.taps(); ++i) kernel_tap(call, work, i);
}

}  // namespace

void register_shifted_gemm(KernelTable& table) {
  for (const OpDef* op : {&ops::kConv2D, &ops::kConv2DOnto})
    table.add(*op, DeviceKind::cpu, {"shifted_gemm", unsupported_forward, workspace, forward});
  table.add(ops::kConv2DBackwardKernel, DeviceKind::cpu,
            {"shifted_gemm", unsupported_any, workspace, backward_kernel});
}

}  // namespace nyala
