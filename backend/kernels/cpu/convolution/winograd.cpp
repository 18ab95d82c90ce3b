// Convolutions of 3x3 kernels with fewer products: Winograd's minimal filtering F(2x2, 3x3) (Lavin and Gray,
// Fast Algorithms for Convolutional Neural Networks, 2016) makes 2x2 results of 16 products instead of 36,
// F(4x4, 3x3) 4x4 of 36 instead of 144. Tiles of the image and the kernel are transformed by additions,
// channels as lanes, in NHWC as it lies; then there are 16 (36) products of matrices
// (tiles, channels) . (channels, filters); sums of their results are y. The gradient of x is the same with
// the kernel mirrored; that of the kernel is the adjoint, sums over tiles of 16 (36) outer products. The
// error of F(2x2, 3x3) is a little larger than a direct kernel's (at most a small multiple: additions of four
// values each way); F(4x4, 3x3) multiplies by what is no power of two, and is computed only where
// set_float32_precision() allows it. Blocks of tiles stay in the second-nearest cache. Whether a layer is
// computed so depends on its shape alone, never on the rows of the batch, and no result depends on how tiles
// are shared out.
#include <algorithm>

#include <nyala/backend/kernels/cpu/base/cpu_level.h>
#include <nyala/backend/kernels/cpu/convolution/winograd.h>
#include <nyala/backend/kernels/cpu/convolution/winograd_loops.h>
#include <nyala/backend/kernels/cpu/onednn/onednn.h>
#include <nyala/backend/kernels/cpu/onednn/packed_weights.h>
#include <nyala/backend/ops/base/kernel_table.h>
#include <nyala/backend/ops/nn/conv2d.h>
#include <nyala/backend/runtime/parallel.h>

namespace nyala {

namespace {

using Loops = WinogradLoops;
using LoopsOf = const Loops& (*)();

constexpr int64_t kPadding = 16;  // floats behind a plane: planes must not lie in the same lines of the cache

/// Sizes of one call, as those of the forward convolution that it computes, or differentiates by the kernel.
struct Work {
  Loops::Shape shape;
  int64_t batch;
  bool turned;  // the gradient of x

  Work(const KernelCall& call, int64_t tile) : turned(call.op == &ops::kConv2DBackwardInput) {
    const ops::ConvolutionGeometry g = ops::detail::convolution_geometry(call);
    batch = g.batch;
    shape = {.height = g.height,
             .width = g.width,
             .channels = g.channels,
             .out_height = g.out_height,
             .out_width = g.out_width,
             .filters = g.out_channels,
             .pad_top = g.pad_top,
             .pad_left = g.pad_left,
             .tile = tile};
    if (!turned) return;
    std::swap(shape.height, shape.out_height);
    std::swap(shape.width, shape.out_width);
    std::swap(shape.channels, shape.filters);
    shape.pad_top = 2 - shape.pad_top;
    shape.pad_left = 2 - shape.pad_left;
  }
  int64_t tiles() const { return batch * shape.tiles_of_image(); }
  int64_t kernel_size() const { return shape.points() * shape.channels * shape.filters; }
};

/// Where it wins, by measurement: with `fewest` channels and filters or more.
const char* unsupported_any(const KernelCall& call, int64_t tile, int64_t fewest) {
  constexpr int64_t kSmallest = 4;
  if (tile > 2 && call.precision == Float32Precision::highest)
    return "set_float32_precision(\"high\") allows it";
  if (call.precision == Float32Precision::medium && onednn::has_fast_bfloat16())
    return "products of bfloat16 are faster";
  if (call.output(0).dtype() != DType::float32) return "float32 only";
  const ops::ConvolutionGeometry g = ops::detail::convolution_geometry(call);
  if (g.kernel_height != 3 || g.kernel_width != 3 || g.depth != 1 || g.kernel_depth != 1)
    return "3x3 kernels only";
  if (g.groups != 1 || g.dilation != std::array<int64_t, 2>{1, 1} ||
      g.strides != std::array<int64_t, 2>{1, 1})
    return "no groups, strides or dilation";
  if (g.channels % 16 != 0 || g.out_channels % 16 != 0) return "channels by the sixteen";
  if (std::min(g.channels, g.out_channels) < fewest) return "others are faster for few channels";
  if (std::min({g.height, g.width, g.out_height, g.out_width}) < kSmallest)
    return "others are faster on small images";
  if (g.pad_top > 2 || g.pad_left > 2 || g.pad_top < 0 || g.pad_left < 0) return "padding beyond the kernel";
  return nullptr;
}

// ---- forward, and the gradient of x

template <int64_t kTile>
constexpr int64_t kFewestForward = kTile > 2 ? 32 : 64;

template <int64_t kTile>
const char* unsupported_forward(const KernelCall& call) {
  const ops::Activation activation = ops::detail::convolution_activation(call);
  if (activation == ops::Activation::sigmoid || activation == ops::Activation::tanh)
    return "no sigmoid or tanh";
  return unsupported_any(call, kTile, kFewestForward<kTile>);
}

template <int64_t kTile>
const char* unsupported_backward_input(const KernelCall& call) {
  return unsupported_any(call, kTile, kFewestForward<kTile>);
}

/// Tiles that one thread transforms and multiplies at a time.
struct Blocks {
  int64_t points, tiles, rows_plane, products_plane;

  explicit Blocks(const Work& work) : points(work.shape.points()) {
    constexpr int64_t kFloats = 1 << 17, kMost = 96;  // half of a cache of 1 MiB
    const Loops::Shape& s = work.shape;
    const int64_t fewest = s.tile > 2 ? 36 : 48;
    tiles = std::clamp<int64_t>(kFloats / (s.points() * (s.channels + s.filters)) / 12 * 12, fewest, kMost);
    rows_plane = tiles * s.channels + kPadding;
    products_plane = tiles * s.filters + kPadding;
  }
  int64_t size() const { return points * (rows_plane + products_plane); }
};

/// The transformed kernel, zeros, and one block for each thread.
template <int64_t kTile>
size_t forward_workspace(const KernelCall& call) {
  const Work work(call, kTile);
  return static_cast<size_t>(work.kernel_size() + work.shape.channels +
                             compute_threads() * Blocks(work).size()) *
         sizeof(float);
}

Loops::Activation activation_of(const KernelCall& call) {
  if (call.op == &ops::kConv2DBackwardInput) return Loops::Activation::linear;
  switch (ops::detail::convolution_activation(call)) {
    case ops::Activation::relu:
      return Loops::Activation::relu;
    case ops::Activation::relu6:
      return Loops::Activation::relu6;
    default:
      return Loops::Activation::linear;  // others are refused
  }
}

void transform_kernel(const Loops& loops, const Work& work, const float* kernel, float* points) {
  parallel_for(work.shape.channels, 16, [&](int64_t first, int64_t end) {
    loops.transform_kernel(work.shape, kernel, work.turned, first, end, points);
  });
}

/// Transformed kernels, kept while they do not change, as in inference; a training step makes them in the
/// workspace. Those of several shapes share no list, which would be too short for all layers of a model.
PackedWeights& kept_kernels(const Work& work) {
  constexpr size_t kLists = 64;
  static auto& all = *new std::array<std::array<PackedWeights, 2>, kLists>();
  const Loops::Shape& s = work.shape;
  const int64_t place = s.channels / 16 * 31 + s.filters / 16 + s.tile * 13;
  return all[static_cast<size_t>(place) % kLists][work.turned ? 1 : 0];
}

template <int64_t kTile, LoopsOf kLoops>
void forward(const KernelCall& call) {
  const Loops& loops = kLoops();
  const Work work(call, kTile);
  const Blocks blocks(work);
  const float* bias = !work.turned && call.inputs.size() > 2 ? call.in<float>(2) : nullptr;
  const Loops::Result result{bias, activation_of(call), call.op == &ops::kConv2DOnto, call.out<float>(0)};
  float* own_kernel = call.workspace.raw_as<float>();
  float* zeros = own_kernel + work.kernel_size();
  std::fill_n(zeros, work.shape.channels, 0.0f);
  const auto fill = [&](void* to) {
    transform_kernel(loops, work, call.in<float>(1), static_cast<float*>(to));
  };
  const auto kept = kept_kernels(work).find_or_fill(
      call.input(1), static_cast<size_t>(work.kernel_size()) * sizeof(float), fill);
  const auto* kernel = static_cast<const float*>(kept.data());
  if (!kernel) fill(own_kernel);
  const int64_t pieces = (work.tiles() + blocks.tiles - 1) / blocks.tiles;
  const auto room = static_cast<int64_t>(call.workspace.num_elements() / sizeof(float));
  const int64_t spaces = (room - work.kernel_size() - work.shape.channels) / blocks.size();
  const int64_t parts = std::min<int64_t>({pieces, spaces, compute_threads()});
  parallel_for(parts, 1, [&](int64_t part, int64_t) {
    float* space = zeros + work.shape.channels + part * blocks.size();
    for (int64_t piece = part * pieces / parts; piece < (part + 1) * pieces / parts; ++piece) {
      const int64_t first = piece * blocks.tiles, count = std::min(blocks.tiles, work.tiles() - first);
      const Loops::Tiles rows{first, count, space, blocks.rows_plane};
      const Loops::Tiles products{first, count, space + blocks.points * blocks.rows_plane,
                                  blocks.products_plane};
      loops.transform_rows(work.shape, call.in<float>(0), zeros, rows);
      loops.multiply(work.shape, rows, kernel ? kernel : own_kernel, products);
      loops.transform_result(work.shape, products, result);
    }
  });
}

// ---- gradient of the kernel: all threads transform some tiles, then each adds up the products of some
// points and channels, tiles in their order

template <int64_t kTile>
const char* unsupported_backward_kernel(const KernelCall& call) {
  constexpr int64_t kFewest = 32;
  return unsupported_any(call, kTile, kFewest);
}

struct Chunks {
  int64_t points, tiles, columns_plane, gradients_plane;

  explicit Chunks(const Work& work) : points(work.shape.points()) {
    constexpr int64_t kFloats = 1 << 18, kFewest = 64, kMost = 1024;
    const Loops::Shape& s = work.shape;
    tiles = std::clamp<int64_t>(kFloats / (s.points() * (s.channels + s.filters)), kFewest, kMost);
    tiles = std::min(tiles, work.tiles());
    columns_plane = tiles * s.channels + kPadding;
    gradients_plane = tiles * s.filters + kPadding;
  }
  int64_t size() const { return points * (columns_plane + gradients_plane); }
};

template <int64_t kTile>
size_t backward_kernel_workspace(const KernelCall& call) {
  const Work work(call, kTile);
  return static_cast<size_t>(work.kernel_size() + work.shape.channels + work.shape.filters +
                             Chunks(work).size()) *
         sizeof(float);
}

template <int64_t kTile, LoopsOf kLoops>
void backward_kernel(const KernelCall& call) {
  constexpr int64_t kGrain = 16;
  const Loops& loops = kLoops();
  const Work work(call, kTile);
  const Loops::Shape& s = work.shape;
  const Chunks chunks(work);
  float* sums = call.workspace.raw_as<float>();
  float* zeros = sums + work.kernel_size();
  float* columns = zeros + s.channels + s.filters;
  float* gradients = columns + chunks.points * chunks.columns_plane;
  std::fill_n(zeros, s.channels + s.filters, 0.0f);
  const int64_t groups = s.channels / Loops::kColumn, plane = s.channels * s.filters;
  parallel_for(chunks.points, 1,
               [&](int64_t point, int64_t) { std::fill_n(sums + point * plane, plane, 0.0f); });
  for (int64_t first = 0; first < work.tiles(); first += chunks.tiles) {
    const int64_t count = std::min(chunks.tiles, work.tiles() - first);
    parallel_for(count, kGrain, [&](int64_t begin, int64_t end) {
      loops.transform_columns(s, call.in<float>(0), zeros, {first, count, columns, chunks.columns_plane},
                              begin, end);
      loops.transform_gradient(s, call.in<float>(1), zeros, {first, count, gradients, chunks.gradients_plane},
                               begin, end);
    });
    parallel_for(chunks.points * groups, 1, [&](int64_t job, int64_t) {
      const int64_t point = job / groups, channel = job % groups * Loops::kColumn;
      loops.add_products(s, columns + point * chunks.columns_plane,
                         gradients + point * chunks.gradients_plane, count, channel, sums + point * plane);
    });
  }
  parallel_for(s.channels, 16, [&](int64_t begin, int64_t end) {
    loops.transform_sums(s, sums, begin, end, call.out<float>(0));
  });
}

template <int64_t kTile, LoopsOf kLoops>
void add(KernelTable& table, std::string_view name) {
  for (const OpDef* op : {&ops::kConv2D, &ops::kConv2DOnto})
    table.add(*op, DeviceKind::cpu,
              {name, unsupported_forward<kTile>, forward_workspace<kTile>, forward<kTile, kLoops>});
  table.add(ops::kConv2DBackwardInput, DeviceKind::cpu,
            {name, unsupported_backward_input<kTile>, forward_workspace<kTile>, forward<kTile, kLoops>});
  table.add(ops::kConv2DBackwardKernel, DeviceKind::cpu,
            {name, unsupported_backward_kernel<kTile>, backward_kernel_workspace<kTile>,
             backward_kernel<kTile, kLoops>});
}

}  // namespace

void register_winograd(KernelTable& table) {
  if (cpu_level() >= CpuLevel::avx512) {
    add<4, winograd4_loops_avx512>(table, "winograd4_avx512");
    add<2, winograd_loops_avx512>(table, "winograd_avx512");
  }
  if (cpu_level() >= CpuLevel::avx2) {
    add<4, winograd4_loops_avx2>(table, "winograd4_avx2");
    add<2, winograd_loops_avx2>(table, "winograd_avx2");
  }
}

}  // namespace nyala
