// Ba et al. 2016; Zhang and Sennrich 2019 (RMS). Per row mean, then squares around it, then y, while the row
// is in the cache; chunks of 4096 values are added in double. Kept are mean and 1 / deviation of each row.
// The gradient of x needs two sums per row; those of gamma and beta are taken in the same pass, for pieces of
// rows that the shape alone decides, and the pieces are added in double in their order.
#include <nyala/backend/kernels/cpu/normalization/layer_normalization.h>

#include <algorithm>

#include <nyala/backend/kernels/cpu/base/cpu_level.h>
#include <nyala/backend/kernels/cpu/normalization/layer_normalization_loops.h>
#include <nyala/backend/ops/base/kernel_table.h>
#include <nyala/backend/ops/nn/layer_normalization.h>
#include <nyala/backend/runtime/parallel.h>

namespace nyala {

namespace {

using LoopsOf = const LayerNormalizationLoops& (*)();
using Rows = ops::LayerNormalizationRows;

constexpr int64_t kValuesPerPiece = 65536;
constexpr int64_t kFewestRows = 8, kMostRows = 1024;  // of one partial sum: few sums, few roundings in each

const char* unsupported_reason(const KernelCall& call) {
  return call.input(0).dtype() == DType::float32 ? nullptr : "float32 only";
}

const ops::LayerNormalizationDescriptor& described(const KernelCall& call) {
  return call.descriptor<ops::LayerNormalizationDescriptor>();
}

template <LoopsOf kLoops>
void forward(const KernelCall& call) {
  const auto& d = described(call);
  const Rows size(call.input(0).shape(), d.axes);
  const float* gamma = d.has_gamma ? call.in<float>(1) : nullptr;
  const float* beta = d.has_beta ? call.in<float>(d.has_gamma ? 2 : 1) : nullptr;
  parallel_for(size.rows, kParallelGrain / size.n + 1, [&](int64_t first, int64_t last) {
    kLoops().forward({.x = call.in<float>(0) + first * size.n,
                      .gamma = gamma,
                      .beta = beta,
                      .y = call.out<float>(0) + first * size.n,
                      .statistics = call.out<float>(1) + 2 * first,
                      .rows = last - first,
                      .n = size.n,
                      .epsilon = d.epsilon,
                      .centered = d.centered});
  });
}

/// How the rows are cut for the sums over them: by shape alone, so that their bits depend on nothing else.
struct Pieces {
  Rows size;
  int64_t rows, count;
  explicit Pieces(const KernelCall& call)
      : size(call.input(1).shape(), described(call).axes),
        rows(std::clamp(kValuesPerPiece / size.n, kFewestRows, kMostRows)),
        count((size.rows + rows - 1) / rows) {}
};

size_t backward_workspace(const KernelCall& call) {
  return static_cast<size_t>(Pieces(call).count * call.output(1).num_elements()) * sizeof(float);
}

void add_pieces(const Pieces& pieces, const float* partial, float* sums) {
  const int64_t width = 2 * pieces.size.n;
  parallel_for(width, kParallelGrain / pieces.count + 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      double total = 0.0;
      for (int64_t piece = 0; piece < pieces.count; ++piece)
        total += static_cast<double>(partial[piece * width + i]);
      sums[i] = static_cast<float>(total);
    }
  });
}

template <LoopsOf kLoops>
void backward(const KernelCall& call) {
  const auto& d = described(call);
  const Pieces pieces(call);
  const int64_t n = pieces.size.n;
  float* partial = call.output(1).num_elements() > 0 ? call.workspace.raw_as<float>() : nullptr;
  parallel_for(pieces.count, 1, [&](int64_t begin, int64_t end) {
    for (int64_t piece = begin; piece < end; ++piece) {
      const int64_t first = piece * pieces.rows;
      kLoops().backward({.gradient = call.in<float>(0) + first * n,
                         .x = call.in<float>(1) + first * n,
                         .statistics = call.in<float>(2) + 2 * first,
                         .gamma = d.has_gamma ? call.in<float>(3) : nullptr,
                         .dx = call.out<float>(0) + first * n,
                         .sums = partial ? partial + piece * 2 * n : nullptr,
                         .rows = std::min(pieces.rows, pieces.size.rows - first),
                         .n = n,
                         .centered = d.centered});
    }
  });
  if (partial) add_pieces(pieces, partial, call.out<float>(1));
}

template <LoopsOf kLoops>
void add(KernelTable& table, std::string_view name) {
  table.add(ops::kLayerNormalization, DeviceKind::cpu, {name, unsupported_reason, nullptr, forward<kLoops>});
  table.add(ops::kLayerNormalizationBackward, DeviceKind::cpu,
            {name, unsupported_reason, backward_workspace, backward<kLoops>});
}

}  // namespace

void register_layer_normalization(KernelTable& table) {
  if (cpu_level() >= CpuLevel::avx512) add<layer_normalization_loops_avx512>(table, "avx512");
  if (cpu_level() >= CpuLevel::avx2) add<layer_normalization_loops_avx2>(table, "avx2");
}

}  // namespace nyala
