// Lanes are channels, so that a tap is one product of vectors. The gradient of x is gathered: each pixel adds
// up the windows that reach it, so that each row of it is written once and rows can be shared out; scattering
// windows over x would need locks or sums apart. Four neighbours one stride apart have the same taps and
// share what is loaded of the kernel. The gradient of the kernel is summed in at most 16 pieces of rows, cut
// by shape, which are added in their order. What oneDNN does well, it keeps: see the refusals.
#include <algorithm>

#include <nyala/backend/kernels/cpu/base/cpu_level.h>
#include <nyala/backend/kernels/cpu/convolution/depthwise.h>
#include <nyala/backend/kernels/cpu/convolution/depthwise_loops.h>
#include <nyala/backend/ops/base/kernel_table.h>
#include <nyala/backend/ops/nn/conv2d.h>
#include <nyala/backend/runtime/parallel.h>

namespace nyala {

namespace {

using Loops = DepthwiseLoops;
using LoopsOf = const Loops& (*)();

/// The sizes of one call.
struct Work {
  ops::ConvolutionGeometry g;
  Loops::Shape shape;

  explicit Work(const KernelCall& call) : g(ops::detail::convolution_geometry(call)) {
    shape = {{g.height, g.kernel_height, g.out_height, g.strides[0], g.dilation[0], g.pad_top},
             {g.width, g.kernel_width, g.out_width, g.strides[1], g.dilation[1], g.pad_left},
             g.channels};
  }
  int64_t x_row() const { return g.width * g.channels; }
  int64_t y_row() const { return g.out_width * g.channels; }
  int64_t taps() const { return g.kernel_height * g.kernel_width; }
  int64_t kernel_size() const { return taps() * g.channels; }
};

const char* unsupported_any(const KernelCall& call, const ops::ConvolutionGeometry& g) {
  if (call.output(0).dtype() != DType::float32) return "float32 only";
  if (g.groups == 1 || g.in_per_group != 1 || g.out_per_group != 1) return "not one kernel for each channel";
  if (g.kernel_width > Loops::kMaxKernel) return "a wide kernel";
  return nullptr;
}

bool dilated(const ops::ConvolutionGeometry& g) { return g.dilation[0] > 1 || g.dilation[1] > 1; }

// ---- gradient of x

const char* unsupported_input(const KernelCall& call) {
  const ops::ConvolutionGeometry g = ops::detail::convolution_geometry(call);
  return dilated(g) ? unsupported_any(call, g) : "oneDNN is faster without dilation";
}

template <LoopsOf kLoops>
void backward_input(const KernelCall& call) {
  const Work work(call);
  const int64_t rows = work.g.height, products = work.x_row() * work.taps();
  parallel_for(
      work.g.batch * rows, (kParallelGrain + products - 1) / products, [&](int64_t first, int64_t last) {
        for (int64_t i = first; i < last; ++i)
          kLoops().backward_input_row(work.shape,
                                      call.in<float>(0) + i / rows * work.g.out_height * work.y_row(),
                                      call.in<float>(1), i % rows, call.out<float>(0) + i * work.x_row());
      });
}

// ---- gradient of the kernel: sums per piece of rows, added in their order

constexpr int64_t kSumPieces = 16;

const char* unsupported_kernel(const KernelCall& call) {
  const ops::ConvolutionGeometry g = ops::detail::convolution_geometry(call);
  if (!dilated(g) && g.kernel_width <= 3) return "oneDNN is faster for narrow kernels";
  return unsupported_any(call, g);
}

size_t backward_kernel_workspace(const KernelCall& call) {
  return static_cast<size_t>(kSumPieces * Work(call).kernel_size()) * sizeof(float);
}

template <LoopsOf kLoops>
void backward_kernel(const KernelCall& call) {
  const Work work(call);
  const int64_t rows = work.g.batch * work.g.out_height, size = work.kernel_size();
  const int64_t grain = (rows + kSumPieces - 1) / kSumPieces;
  float* sums = call.workspace.raw_as<float>();
  parallel_for(rows, grain, [&](int64_t first, int64_t last) {
    float* sum = sums + first / grain * size;
    std::fill_n(sum, size, 0.0f);
    for (int64_t row = first; row < last; ++row)
      kLoops().backward_kernel_row(work.shape,
                                   call.in<float>(0) + row / work.g.out_height * work.g.height * work.x_row(),
                                   call.in<float>(1) + row * work.y_row(), row % work.g.out_height, sum);
  });
  float* gradient = call.out<float>(0);
  std::fill_n(gradient, size, 0.0f);
  for (int64_t piece = 0; piece * grain < rows; ++piece)
    for (int64_t i = 0; i < size; ++i) gradient[i] += sums[piece * size + i];
}

template <LoopsOf kLoops>
void add(KernelTable& table, std::string_view name) {
  table.add(ops::kConv2DBackwardInput, DeviceKind::cpu,
            {name, unsupported_input, nullptr, backward_input<kLoops>});
  table.add(ops::kConv2DBackwardKernel, DeviceKind::cpu,
            {name, unsupported_kernel, backward_kernel_workspace, backward_kernel<kLoops>});
}

}  // namespace

void register_depthwise(KernelTable& table) {
  if (cpu_level() >= CpuLevel::avx512) add<depthwise_loops_avx512>(table, "depthwise_avx512");
  if (cpu_level() >= CpuLevel::avx2) add<depthwise_loops_avx2>(table, "depthwise_avx2");
}

}  // namespace nyala
