// A convolution of one pixel is a product of matrices, (pixels, channels) by (channels, filters), and so are
// its gradients. With strides the pixels that are read are gathered first, or the gradients put to their
// places after. Pixels are shared out for the gradient of x, filters for that of the kernel, so that each
// result is computed by one thread and no sums have to meet. The bounds are measured against oneDNN's
// convolution.
#include <algorithm>
#include <cstring>

#include <nyala/backend/kernels/cpu/convolution/pointwise.h>
#include <nyala/backend/kernels/cpu/onednn/onednn.h>
#include <nyala/backend/ops/base/kernel_table.h>
#include <nyala/backend/ops/nn/conv2d.h>
#include <nyala/backend/runtime/parallel.h>

namespace nyala {

namespace {

/// Rows that a thread should have at least, so that products stay efficient.
constexpr int64_t kLeastRows = 64;

/// Sizes of one call: x (images, height, width, channels) and y, of which each pixel belongs to one of x.
struct Work {
  ops::ConvolutionGeometry g;

  explicit Work(const KernelCall& call) : g(ops::detail::convolution_geometry(call)) {}
  bool strided() const { return g.strides[0] != 1 || g.strides[1] != 1; }
  int64_t pixels() const { return g.batch * g.out_height * g.out_width; }
  int64_t kernel_size() const { return g.channels * g.out_channels; }
  /// Floats of x at the pixels that belong to one of y.
  int64_t gathered_size() const { return strided() ? pixels() * g.channels : 0; }

  /// Calls body(pixel of y, pixel of x) for the pixels of y, a row of them at a time on one thread.
  template <class Body>
  void for_each_pixel(Body&& body) const {
    const int64_t rows = g.batch * g.out_height, row = std::max<int64_t>(g.out_width * g.channels, 1);
    parallel_for(rows, (kParallelGrain + row - 1) / row, [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i) {
        const int64_t line = i / g.out_height * g.height + i % g.out_height * g.strides[0];
        for (int64_t ox = 0; ox < g.out_width; ++ox)
          body(i * g.out_width + ox, line * g.width + ox * g.strides[1]);
      }
    });
  }
};

const char* unsupported_any(const KernelCall& call, const Work& work) {
  const ops::ConvolutionGeometry& g = work.g;
  if (call.output(0).dtype() != DType::float32) return "float32 only";
  if (g.groups != 1 || g.kernel_height != 1 || g.kernel_width != 1) return "groups or a larger kernel";
  if (g.pad_top != 0 || g.pad_left != 0 || g.out_height != (g.height - 1) / g.strides[0] + 1 ||
      g.out_width != (g.width - 1) / g.strides[1] + 1)
    return "padding";
  return nullptr;
}

/// Cuts [0, count) into nearly equal parts, one for each thread but none below `least`; calls
/// body(first, size).
template <class Body>
void for_parts(int64_t count, int64_t least, Body&& body) {
  const int64_t parts = std::clamp<int64_t>(count / least, 1, compute_threads());
  if (parts == 1) return body(int64_t{0}, count);
  parallel_for(parts, 1, [&](int64_t part, int64_t) {
    const int64_t first = part * count / parts;
    body(first, (part + 1) * count / parts - first);
  });
}

size_t workspace(const KernelCall& call) {
  return static_cast<size_t>(Work(call).gathered_size()) * sizeof(float);
}

// ---- gradient of x: dz by the kernel with its axes swapped

const char* unsupported_input(const KernelCall& call) {
  constexpr int64_t kLargeKernel = 1 << 19;
  const Work work(call);
  if (work.kernel_size() < kLargeKernel) return "oneDNN is faster for a small kernel";
  return unsupported_any(call, work);
}

void backward_input(const KernelCall& call) {
  const Work work(call);
  const int64_t channels = work.g.channels, filters = work.g.out_channels;
  float* dx = work.strided() ? call.workspace.raw_as<float>() : call.out<float>(0);
  onednn::prepare_multiply();
  for_parts(work.pixels(), kLeastRows, [&](int64_t first, int64_t rows) {
    onednn::multiply({.rows = rows, .inner = filters, .columns = channels, .transpose_b = true}, 1.0f,
                     {{call.in<float>(0) + first * filters, filters},
                      {call.in<float>(1), filters},
                      {dx + first * channels, channels}});
  });
  if (!work.strided()) return;
  std::memset(call.out<float>(0), 0, call.output(0).bytes());
  work.for_each_pixel([&](int64_t from, int64_t to) {
    std::copy_n(dx + from * channels, channels, call.out<float>(0) + to * channels);
  });
}

// ---- gradient of the kernel: x transposed by dz

const char* unsupported_kernel(const KernelCall& call) {
  constexpr int64_t kFewChannels = 64, kFewFilters = 128;
  const Work work(call);
  if (work.g.channels < kFewChannels || work.g.out_channels < kFewFilters)
    return "oneDNN is faster for few channels or filters";
  if (work.g.channels >= 4 * work.g.out_channels) return "oneDNN is faster for many channels to few filters";
  return unsupported_any(call, work);
}

void backward_kernel(const KernelCall& call) {
  const Work work(call);
  const int64_t channels = work.g.channels, filters = work.g.out_channels;
  const float* x = call.in<float>(0);
  if (work.strided()) {
    float* gathered = call.workspace.raw_as<float>();
    work.for_each_pixel([&](int64_t to, int64_t from) {
      std::copy_n(call.in<float>(0) + from * channels, channels, gathered + to * channels);
    });
    x = gathered;
  }
  onednn::prepare_multiply();
  for_parts(filters, kLeastRows, [&](int64_t first, int64_t columns) {
    onednn::multiply(
        {.rows = channels, .inner = work.pixels(), .columns = columns, .transpose_a = true}, 1.0f,
        {{x, channels}, {call.in<float>(1) + first, filters}, {call.out<float>(0) + first, filters}});
  });
}

}  // namespace

void register_pointwise(KernelTable& table) {
  table.add(ops::kConv2DBackwardInput, DeviceKind::cpu,
            {"onednn_product", unsupported_input, workspace, backward_input});
  table.add(ops::kConv2DBackwardKernel, DeviceKind::cpu,
            {"onednn_product", unsupported_kernel, workspace, backward_kernel});
}

}  // namespace nyala
