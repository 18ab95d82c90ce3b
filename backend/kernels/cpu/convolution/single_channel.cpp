// With one channel and few filters (6 in LeNet-5) neither is as long as a vector. So lanes are (pixel,
// filter) pairs as they lie in y, over a period that both divide: 6 filters make 48 floats, 8 pixels in three
// vectors of AVX-512, or 24 and 4 in three of AVX2. The pixels of a period are loaded once per tap and spread
// over their lanes by a permutation, kernel and bias are repeated over the period once per call, and a row of
// x serves up to four rows of y.
#include <numeric>

#include <nyala/backend/kernels/cpu/base/cpu_level.h>
#include <nyala/backend/kernels/cpu/convolution/padded_images.h>
#include <nyala/backend/kernels/cpu/convolution/single_channel.h>
#include <nyala/backend/kernels/cpu/convolution/single_channel_loops.h>
#include <nyala/backend/ops/base/kernel_table.h>
#include <nyala/backend/runtime/parallel.h>

namespace nyala {

namespace {

using Loops = SingleChannelLoops;
using LoopsOf = const Loops& (*)();

/// One call: sizes, frames, and how its images are cut into pieces, each with scratch memory of its own.
struct Work {
  ops::ConvolutionGeometry g;
  PaddedImages images;
  Loops::Shape shape;
  int64_t grain;

  Work(const KernelCall& call, int64_t lanes, int64_t pieces)
      : g(ops::detail::convolution_geometry(call)),
        images(g),
        shape{images.row(),
              g.kernel_height,
              g.kernel_width,
              g.out_channels,
              g.out_height,
              g.out_width,
              std::lcm(g.out_channels, lanes)},
        grain((g.batch + pieces - 1) / pieces) {}

  int64_t pieces() const { return (g.batch + grain - 1) / grain; }
  int64_t y_size() const { return g.out_height * g.out_width * g.out_channels; }
  int64_t taps() const { return g.kernel_height * g.kernel_width; }
  int64_t expanded_size() const { return taps() * shape.period; }

  /// Calls body(image, piece) for every image.
  template <class Body>
  void for_each_image(Body&& body) const {
    parallel_for(g.batch, grain, [&](int64_t first, int64_t last) {
      for (int64_t n = first; n < last; ++n) body(n, first / grain);
    });
  }
};

template <LoopsOf kLoops>
const char* unsupported_reason(const KernelCall& call) {
  constexpr int64_t kLargestFrame = 1 << 18;  // floats
  const ops::ConvolutionGeometry g = ops::detail::convolution_geometry(call);
  if (call.output(0).dtype() != DType::float32) return "float32 only";
  if (g.channels != 1) return "more than one channel";
  if (ops::detail::convolution_activation(call) == ops::Activation::relu6) return "relu6";
  if (g.strides[0] != 1 || g.strides[1] != 1 || g.dilation[0] != 1 || g.dilation[1] != 1)
    return "strides or dilation";
  if (g.groups != 1) return "groups";
  if (g.kernel_height > Loops::kMaxHeight) return "a high kernel";
  const Loops& loops = kLoops();
  if (std::lcm(g.out_channels, loops.lanes) > loops.most_vectors * loops.lanes)
    return "filters that fill no few vectors";
  if (g.out_channels % loops.lanes == 0 && !loops.for_whole_vectors) return "filters that fill vectors";
  if (PaddedImages(g).size() > kLargestFrame) return "large padded images";
  return nullptr;
}

/// Repeats rows of `filters` values over periods.
void expand(const Loops::Shape& s, const float* from, int64_t rows, float* to) {
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t i = 0; i < s.period; ++i)
      to[row * s.period + i] = from ? from[row * s.filters + i % s.filters] : 0.0f;
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

constexpr int64_t kImagePieces = 32;

template <LoopsOf kLoops>
size_t forward_workspace(const KernelCall& call) {
  const Work work(call, kLoops().lanes, kImagePieces);
  const int64_t floats = work.expanded_size() + work.shape.period + work.pieces() * work.images.size();
  return static_cast<size_t>(floats) * sizeof(float);
}

template <LoopsOf kLoops>
void forward(const KernelCall& call) {
  const Work work(call, kLoops().lanes, kImagePieces);
  float* kernel = call.workspace.raw_as<float>();
  float* bias = kernel + work.expanded_size();
  float* frames = bias + work.shape.period;
  expand(work.shape, call.in<float>(1), work.taps(), kernel);
  expand(work.shape, call.inputs.size() > 2 ? call.in<float>(2) : nullptr, 1, bias);
  work.for_each_image([&](int64_t n, int64_t piece) {
    const float* x = work.images.framed(call.in<float>(0) + n * work.images.image_size(),
                                        frames + piece * work.images.size());
    kLoops().forward(work.shape, x, kernel, bias, activation_of(call),
                     call.out<float>(0) + n * work.y_size());
  });
}

template <LoopsOf kLoops>
void add(KernelTable& table, std::string_view name) {
  table.add(ops::kConv2D, DeviceKind::cpu,
            {name, unsupported_reason<kLoops>, forward_workspace<kLoops>, forward<kLoops>});
}

}  // namespace

void register_single_channel(KernelTable& table) {
  if (cpu_level() >= CpuLevel::avx512) add<single_channel_loops_avx512>(table, "single_channel_avx512");
  if (cpu_level() >= CpuLevel::avx2) add<single_channel_loops_avx2>(table, "single_channel_avx2");
}

}  // namespace nyala
