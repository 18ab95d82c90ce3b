// A block is 8 neighbouring pixels of one row by one vector of channels, whose sums stay in registers: each
// column of the image that its windows share is loaded once (3 columns, stride 1: 10 loads instead of 24),
// for which the width of the kernel and the stride are template parameters. For the gradient of the kernel,
// which has 9 sums, AVX2 has registers for 4 pixels.
// Columns beside the image are masked loads that give 0, so no frame is needed; hence the limits on padding.
// The gradient of the kernel takes two rows at once, so that the 9 sums of a 3x3 kernel are loaded and stored
// half as often, in at most 16 pieces added in their order.
#include <algorithm>

#include <nyala/backend/kernels/cpu/base/cpu_level.h>
#include <nyala/backend/kernels/cpu/convolution/narrow_depthwise.h>
#include <nyala/backend/kernels/cpu/convolution/narrow_depthwise_loops.h>
#include <nyala/backend/ops/base/kernel_table.h>
#include <nyala/backend/ops/nn/conv2d.h>
#include <nyala/backend/runtime/parallel.h>

namespace nyala {

namespace {

using Loops = NarrowDepthwiseLoops;
using LoopsOf = const Loops& (*)();

Loops::Shape shape_of(const ops::ConvolutionGeometry& g) {
  return {.height = g.height,
          .width = g.width,
          .channels = g.channels,
          .kernel_height = g.kernel_height,
          .kernel_width = g.kernel_width,
          .out_height = g.out_height,
          .out_width = g.out_width,
          .stride_y = g.strides[0],
          .stride_x = g.strides[1],
          .pad_top = g.pad_top,
          .pad_left = g.pad_left};
}

/// The sizes of one call.
struct Work {
  ops::ConvolutionGeometry g;
  Loops::Shape shape;

  explicit Work(const KernelCall& call) : g(ops::detail::convolution_geometry(call)), shape(shape_of(g)) {}
  int64_t x_row() const { return g.width * g.channels; }
  int64_t y_row() const { return g.out_width * g.channels; }
  int64_t x_image() const { return g.height * x_row(); }
  int64_t y_image() const { return g.out_height * y_row(); }
  int64_t taps() const { return g.kernel_height * g.kernel_width; }
  int64_t kernel_size() const { return taps() * g.channels; }
  /// How many rows of `row` results make a piece of their own.
  int64_t grain(int64_t row) const {
    const int64_t products = row * taps();
    return (kParallelGrain + products - 1) / products;
  }
};

const char* unsupported_any(const KernelCall& call, const ops::ConvolutionGeometry& g) {
  if (call.output(0).dtype() != DType::float32) return "float32 only";
  if (g.groups == 1 || g.in_per_group != 1 || g.out_per_group != 1) return "not one kernel for each channel";
  if (g.kernel_width != 3 && g.kernel_width != 5) return "a kernel of neither 3 nor 5 columns";
  if (g.strides[1] > 2 || g.dilation[0] != 1 || g.dilation[1] != 1) return "large strides or dilation";
  return nullptr;
}

/// Whether at most half a kernel lies beside an image, `before` and `after` it.
const char* unsupported_edges(const ops::ConvolutionGeometry& g, int64_t before, int64_t after) {
  return std::max(before, after) > g.kernel_width / 2 ? "much padding" : nullptr;
}

const char* unsupported_windows(const KernelCall& call) {
  const ops::ConvolutionGeometry g = ops::detail::convolution_geometry(call);
  if (const char* reason = unsupported_any(call, g)) return reason;
  return unsupported_edges(g, g.pad_left,
                           (g.out_width - 1) * g.strides[1] + g.kernel_width - g.pad_left - g.width);
}

/// Loops::backward_input_row reads the windows that reach a pixel: those beside the result count.
const char* unsupported_backward_input(const KernelCall& call) {
  const ops::ConvolutionGeometry g = ops::detail::convolution_geometry(call);
  if (const char* reason = unsupported_any(call, g)) return reason;
  const int64_t stride = g.strides[1], reach = (g.kernel_width - 1) / stride, first = g.pad_left / stride,
                last = (g.width - 1 + g.pad_left) / stride;
  if (last - first < 1 && g.kernel_width == 5 && stride == 2) return "a narrow image";
  return unsupported_edges(g, reach - first, last - (g.out_width - 1));
}

// ---- forward

const char* unsupported_forward(const KernelCall& call) {
  const ops::Activation activation = ops::detail::convolution_activation(call);
  if (activation == ops::Activation::sigmoid || activation == ops::Activation::tanh)
    return "no sigmoid or tanh";
  return unsupported_windows(call);
}

Loops::Activation activation_of(const KernelCall& call) {
  switch (ops::detail::convolution_activation(call)) {
    case ops::Activation::relu:
      return Loops::Activation::relu;
    case ops::Activation::relu6:
      return Loops::Activation::relu6;
    default:
      return Loops::Activation::linear;
  }
}

template <LoopsOf kLoops>
void forward(const KernelCall& call) {
  const Work work(call);
  const int64_t rows = work.g.out_height;
  const float* bias = call.inputs.size() > 2 ? call.in<float>(2) : nullptr;
  const Loops::Activation activation = activation_of(call);
  parallel_for(work.g.batch * rows, work.grain(work.y_row()), [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i)
      kLoops().forward_row(work.shape, call.in<float>(0) + i / rows * work.x_image(), call.in<float>(1), bias,
                           activation, i % rows, call.out<float>(0) + i * work.y_row());
  });
}

// ---- gradient of x

template <LoopsOf kLoops>
void backward_input(const KernelCall& call) {
  const Work work(call);
  const int64_t rows = work.g.height;
  parallel_for(work.g.batch * rows, work.grain(work.x_row()), [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i)
      kLoops().backward_input_row(work.shape, call.in<float>(0) + i / rows * work.y_image(),
                                  call.in<float>(1), i % rows, call.out<float>(0) + i * work.x_row());
  });
}

// ---- gradient of the kernel: sums per piece of rows, added in their order

constexpr int64_t kMostPieces = 16;
constexpr int64_t kLeastPixels = 128;  // of a piece, worth adding up its sums
constexpr int64_t kRowsAtOnce = 2;

int64_t sum_pieces(const Work& work) {
  return std::clamp(work.g.batch * work.g.out_height * work.g.out_width / kLeastPixels, int64_t{1},
                    kMostPieces);
}

size_t backward_kernel_workspace(const KernelCall& call) {
  const Work work(call);
  return static_cast<size_t>(sum_pieces(work) * work.kernel_size()) * sizeof(float);
}

template <LoopsOf kLoops>
void backward_kernel(const KernelCall& call) {
  const Work work(call);
  const int64_t rows = work.g.batch * work.g.out_height, size = work.kernel_size();
  const int64_t pieces = sum_pieces(work), grain = (rows + pieces - 1) / pieces;
  float* sums = call.workspace.raw_as<float>();
  parallel_for(rows, grain, [&](int64_t first, int64_t last) {
    float* sum = sums + first / grain * size;
    std::fill_n(sum, size, 0.0f);
    for (int64_t row = first; row < last;) {
      const int64_t image = row / work.g.out_height, oy = row % work.g.out_height;
      const int64_t end = std::min({work.g.out_height, oy + last - row, oy + kRowsAtOnce});
      kLoops().backward_kernel_rows(work.shape, call.in<float>(0) + image * work.x_image(),
                                    call.in<float>(1) + image * work.y_image(), oy, end, sum);
      row += end - oy;
    }
  });
  float* gradient = call.out<float>(0);
  std::copy_n(sums, size, gradient);
  for (int64_t piece = 1; piece * grain < rows; ++piece)
    for (int64_t i = 0; i < size; ++i) gradient[i] += sums[piece * size + i];
}

template <LoopsOf kLoops>
void add(KernelTable& table, std::string_view name) {
  table.add(ops::kConv2D, DeviceKind::cpu, {name, unsupported_forward, nullptr, forward<kLoops>});
  table.add(ops::kConv2DBackwardInput, DeviceKind::cpu,
            {name, unsupported_backward_input, nullptr, backward_input<kLoops>});
  table.add(ops::kConv2DBackwardKernel, DeviceKind::cpu,
            {name, unsupported_windows, backward_kernel_workspace, backward_kernel<kLoops>});
}

}  // namespace

void register_narrow_depthwise(KernelTable& table) {
  if (cpu_level() >= CpuLevel::avx512) add<narrow_depthwise_loops_avx512>(table, "narrow_depthwise_avx512");
  if (cpu_level() >= CpuLevel::avx2) add<narrow_depthwise_loops_avx2>(table, "narrow_depthwise_avx2");
}

}  // namespace nyala
