// Direct convolution on NHWC as it lies: the taps of a kernel row that lie side by side are one run of
// floats, so that the image is neither packed nor copied but into a frame of zeros where there is padding.
// The inner loops are those of GotoBLAS and BLIS (Goto and van de Geijn 2008): a block of pixels by filters
// stays in registers (6 by 64 with AVX-512, 5 by 16 with AVX2), one value of the image is multiplied with
// vectors of the kernel. The gradient of x is that product with the kernel turned, into columns of taps,
// which each pixel then adds up. For few or odd channels, with which oneDNN would fill its blocks in part
// only (compare Zhang et al., High Performance Zero-Memory Overhead Direct Convolutions, 2018).
#include <algorithm>

#include <nyala/backend/kernels/cpu/base/cpu_level.h>
#include <nyala/backend/kernels/cpu/convolution/direct_convolution.h>
#include <nyala/backend/kernels/cpu/convolution/direct_convolution_loops.h>
#include <nyala/backend/kernels/cpu/convolution/padded_images.h>
#include <nyala/backend/ops/base/kernel_table.h>
#include <nyala/backend/runtime/parallel.h>

namespace nyala {

namespace {

using Loops = DirectConvolutionLoops;
using LoopsOf = const Loops& (*)();

constexpr int64_t kLargestFrame = 1 << 18;   // floats
constexpr int64_t kLargestKernel = 1 << 16;  // floats

/// One call: its sizes, its frames, and how its images are cut into pieces. Each piece has scratch memory of
/// its own.
struct Work {
  ops::ConvolutionGeometry g;
  PaddedImages images;
  Loops::Shape shape;
  int64_t grain;

  Work(const KernelCall& call, int64_t pieces)
      : g(ops::detail::convolution_geometry(call)), images(g), grain((g.batch + pieces - 1) / pieces) {
    shape = {.rows = images.rows(),
             .row = images.row(),
             .channels = g.channels,
             .filters = g.out_channels,
             .kernel_height = g.kernel_height,
             .kernel_width = g.kernel_width,
             .packed_run = (g.kernel_width * g.channels + 15) / 16 * 16,
             .stride_y = g.strides[0],
             .stride_x = g.strides[1],
             .out_height = g.out_height,
             .out_width = g.out_width};
  }
  int64_t pieces() const { return (g.batch + grain - 1) / grain; }
  int64_t y_size() const { return g.out_height * g.out_width * g.out_channels; }
  int64_t columns_size() const { return shape.rows * g.out_width * shape.packed_run; }
  int64_t packed_size() const { return g.kernel_height * g.out_channels * shape.packed_run; }

  /// Calls body(image, piece) for every image.
  template <class Body>
  void for_each_image(Body&& body) const {
    parallel_for(g.batch, grain, [&](int64_t first, int64_t last) {
      for (int64_t n = first; n < last; ++n) body(n, first / grain);
    });
  }
};

const char* unsupported_any(const KernelCall& call, const ops::ConvolutionGeometry& g) {
  if (call.output(0).dtype() != DType::float32) return "float32 only";
  if (g.groups != 1 || g.dilation[0] != 1 || g.dilation[1] != 1) return "no groups, no dilation";
  if (PaddedImages(g).size() > kLargestFrame) return "large padded images";
  if (g.kernel_height * g.kernel_width * g.channels * g.out_channels > kLargestKernel)
    return "a large kernel";
  return nullptr;
}

/// oneDNN's blocks fit these channels.
bool even_channels(int64_t channels) { return channels % 8 == 0; }

// ---- forward

constexpr int64_t kImagePieces = 32;

const char* unsupported_forward(const KernelCall& call) {
  const ops::ConvolutionGeometry g = ops::detail::convolution_geometry(call);
  if (ops::detail::convolution_activation(call) == ops::Activation::relu6) return "relu6";
  if (even_channels(g.channels)) return "oneDNN is faster for channels by the eight";
  if (g.channels < 4 || g.out_channels % 16 != 0)
    return "oneDNN is faster but for 4 or more channels to 16 filters";
  return unsupported_any(call, g);
}

size_t forward_workspace(const KernelCall& call) {
  const Work work(call, kImagePieces);
  return static_cast<size_t>(work.pieces() * work.images.size()) * sizeof(float);
}

Loops::Activation activation_of(const KernelCall& call) {
  switch (call.descriptor<ops::Conv2DDescriptor>().activation) {
    case ops::Activation::relu:
      return Loops::Activation::relu;
    case ops::Activation::sigmoid:
      return Loops::Activation::sigmoid;
    case ops::Activation::tanh:
      return Loops::Activation::tanh;
    case ops::Activation::relu6:  // refused
    case ops::Activation::linear:
      break;
  }
  return Loops::Activation::linear;
}

template <LoopsOf kLoops>
void forward(const KernelCall& call) {
  const Work work(call, kImagePieces);
  const float* bias = call.inputs.size() > 2 ? call.in<float>(2) : nullptr;
  float* frames = call.workspace.raw_as<float>();
  work.for_each_image([&](int64_t n, int64_t piece) {
    const float* x = work.images.framed(call.in<float>(0) + n * work.images.image_size(),
                                        frames + piece * work.images.size());
    kLoops().forward(work.shape, x, call.in<float>(1), bias, activation_of(call),
                     call.out<float>(0) + n * work.y_size());
  });
}

// ---- gradient of x

const char* unsupported_gradient(const KernelCall& call) {
  const ops::ConvolutionGeometry g = ops::detail::convolution_geometry(call);
  if (even_channels(g.channels)) return "oneDNN is faster for channels by the eight";
  if (g.kernel_width * g.channels < 16) return "fewer taps side by side than lanes";
  return unsupported_any(call, g);
}

size_t backward_input_workspace(const KernelCall& call) {
  const Work work(call, kImagePieces);
  return static_cast<size_t>(work.packed_size() +
                             work.pieces() * (work.images.size() + work.columns_size())) *
         sizeof(float);
}

/// (kernel_height, run, filters) to (kernel_height, filters, packed_run).
void pack(const Loops::Shape& s, const float* kernel, float* packed) {
  parallel_for(s.kernel_height, 1, [&](int64_t ky, int64_t) {
    for (int64_t o = 0; o < s.filters; ++o) {
      float* row = packed + (ky * s.filters + o) * s.packed_run;
      for (int64_t r = 0; r < s.run(); ++r) row[r] = kernel[(ky * s.run() + r) * s.filters + o];
      std::fill(row + s.run(), row + s.packed_run, 0.0f);
    }
  });
}

template <LoopsOf kLoops>
void backward_input(const KernelCall& call) {
  const Work work(call, kImagePieces);
  float* packed = call.workspace.raw_as<float>();
  float* frames = packed + work.packed_size();
  pack(work.shape, call.in<float>(1), packed);
  work.for_each_image([&](int64_t n, int64_t piece) {
    float* columns = frames + piece * (work.images.size() + work.columns_size());
    float* frame = columns + work.columns_size();
    float* image = call.out<float>(0) + n * work.images.image_size();
    kLoops().backward_input(work.shape, call.in<float>(0) + n * work.y_size(), packed, columns,
                            work.images.place(image, frame));
    work.images.unframe(image, frame);
  });
}

// ---- gradient of the kernel: sums per piece, added in their order

constexpr int64_t kSumPieces = 8;

template <LoopsOf kLoops>
const char* unsupported_backward_kernel(const KernelCall& call) {
  const ops::ConvolutionGeometry g = ops::detail::convolution_geometry(call);
  if (kLoops == LoopsOf{direct_convolution_loops_avx2} && even_channels(g.out_channels))
    return "oneDNN is faster for filters by the eight";
  return unsupported_gradient(call);
}

size_t backward_kernel_workspace(const KernelCall& call) {
  const Work work(call, kSumPieces);
  return static_cast<size_t>(work.pieces() * (work.packed_size() + work.images.size())) * sizeof(float);
}

void unpack_sum(const Work& work, const float* sums, float* gradient) {
  const Loops::Shape& s = work.shape;
  const int64_t pieces = work.pieces(), size = work.packed_size(), run = s.run();
  parallel_for(s.kernel_height, 1, [&](int64_t ky, int64_t) {
    for (int64_t o = 0; o < s.filters; ++o)
      for (int64_t piece = 0; piece < pieces; ++piece) {
        const float* sum = sums + piece * size + (ky * s.filters + o) * s.packed_run;
        float* to = gradient + ky * run * s.filters + o;
        for (int64_t r = 0; r < run; ++r, to += s.filters) *to = piece == 0 ? sum[r] : *to + sum[r];
      }
  });
}

template <LoopsOf kLoops>
void backward_kernel(const KernelCall& call) {
  const Work work(call, kSumPieces);
  float* sums = call.workspace.raw_as<float>();
  float* frames = sums + work.pieces() * work.packed_size();
  std::fill_n(sums, work.pieces() * work.packed_size(), 0.0f);
  work.for_each_image([&](int64_t n, int64_t piece) {
    const float* x = work.images.framed(call.in<float>(0) + n * work.images.image_size(),
                                        frames + piece * work.images.size());
    kLoops().backward_kernel(work.shape, x, call.in<float>(1) + n * work.y_size(),
                             sums + piece * work.packed_size());
  });
  unpack_sum(work, sums, call.out<float>(0));
}

template <LoopsOf kLoops>
void add(KernelTable& table, std::string_view name) {
  table.add(ops::kConv2D, DeviceKind::cpu, {name, unsupported_forward, forward_workspace, forward<kLoops>});
  table.add(ops::kConv2DBackwardInput, DeviceKind::cpu,
            {name, unsupported_gradient, backward_input_workspace, backward_input<kLoops>});
  table.add(ops::kConv2DBackwardKernel, DeviceKind::cpu,
            {name, unsupported_backward_kernel<kLoops>, backward_kernel_workspace, backward_kernel<kLoops>});
}

}  // namespace

void register_direct_convolution(KernelTable& table) {
  if (cpu_level() >= CpuLevel::avx512) add<direct_convolution_loops_avx512>(table, "direct_avx512");
  if (cpu_level() >= CpuLevel::avx2) add<direct_convolution_loops_avx2>(table, "direct_avx2");
}

}  // namespace nyala
