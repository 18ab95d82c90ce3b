// Ba et al. 2016; Zhang and Sennrich 2019 (RMS). Per row mean, then squares around it, then y, while the row
// is in the cache; chunks of 4096 values are added in double. Kept are mean and 1 / deviation of each row.
// The gradient of x needs two sums per row; those of gamma and beta are taken in the same pass, for pieces of
// rows that the shape alone decides, and the pieces are added in double in their order. 16-bit floats are
// widened a few rows at a time; statistics and parameters are float32 then.
#include <nyala/backend/kernels/cpu/normalization/layer_normalization.h>

#include <algorithm>

#include <nyala/backend/kernels/cpu/base/cpu_level.h>
#include <nyala/backend/kernels/cpu/base/wide_runs.h>
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

const ops::LayerNormalizationDescriptor& described(const KernelCall& call) {
  return call.descriptor<ops::LayerNormalizationDescriptor>();
}

const char* unsupported_reason(const KernelCall& call) {
  const size_t x = call.op == &ops::kLayerNormalizationBackward ? 1 : 0;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    const DType dtype = call.input(i).dtype();
    if (i <= x ? !is_narrow_float(dtype) || dtype != call.input(x).dtype() : dtype != DType::float32)
      return "float32 only, or 16-bit floats beside float32 statistics and parameters";
  }
  const bool is_long = Rows(call.input(x).shape(), described(call).axes).n > kWideRow;
  return is_half(call.input(x).dtype()) && is_long ? "rows of more than 4096 16-bit floats" : nullptr;
}

/// Calls body(first, rows) for rows [first, last), which are as many at a time as are widened together.
template <class Body>
void for_each_block(bool wide, int64_t n, int64_t first, int64_t last, Body&& body) {
  const int64_t step = wide ? std::max<int64_t>(1, kWideRun / n) : last - first;
  for (int64_t row = first; row < last; row += step) body(row, std::min(step, last - row));
}

template <LoopsOf kLoops>
void forward(const KernelCall& call) {
  const auto& d = described(call);
  const Rows size(call.input(0).shape(), d.axes);
  const float* gamma = d.has_gamma ? call.in<float>(1) : nullptr;
  const float* beta = d.has_beta ? call.in<float>(d.has_gamma ? 2 : 1) : nullptr;
  const WideInput x(call.input(0));
  const WideOutput y(call.output(0));
  const int64_t n = size.n;
  parallel_for(size.rows, kParallelGrain / n + 1, [&](int64_t begin, int64_t end) {
    for_each_block(x.is_widened(), n, begin, end, [&](int64_t first, int64_t rows) {
      float wide[kWideRow], results[kWideRow];
      float* place = y.place(first * n, results);
      kLoops().forward({.x = x.read(first * n, rows * n, wide),
                        .gamma = gamma,
                        .beta = beta,
                        .y = place,
                        .statistics = call.out<float>(1) + 2 * first,
                        .rows = rows,
                        .n = n,
                        .epsilon = d.epsilon,
                        .centered = d.centered});
      y.write(first * n, rows * n, place);
    });
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

/// Rows [begin, end), whose sums become `sums`.
template <LoopsOf kLoops>
void backward_piece(const KernelCall& call, int64_t n, int64_t begin, int64_t end, float* sums) {
  const auto& d = described(call);
  const WideInput gradient(call.input(0)), x(call.input(1));
  const WideOutput dx(call.output(0));
  for_each_block(x.is_widened(), n, begin, end, [&](int64_t first, int64_t rows) {
    float wide_gradient[kWideRow], wide_x[kWideRow], results[kWideRow], more[2 * kWideRow];
    float* place = dx.place(first * n, results);
    kLoops().backward({.gradient = gradient.read(first * n, rows * n, wide_gradient),
                       .x = x.read(first * n, rows * n, wide_x),
                       .statistics = call.in<float>(2) + 2 * first,
                       .gamma = d.has_gamma ? call.in<float>(3) : nullptr,
                       .dx = place,
                       .sums = !sums || first == begin ? sums : more,
                       .rows = rows,
                       .n = n,
                       .centered = d.centered});
    dx.write(first * n, rows * n, place);
    for (int64_t i = 0; sums && first > begin && i < 2 * n; ++i) sums[i] += more[i];
  });
}

template <LoopsOf kLoops>
void backward(const KernelCall& call) {
  const Pieces pieces(call);
  const int64_t n = pieces.size.n;
  float* partial = call.output(1).num_elements() > 0 ? call.workspace.raw_as<float>() : nullptr;
  parallel_for(pieces.count, 1, [&](int64_t begin, int64_t end) {
    for (int64_t piece = begin; piece < end; ++piece) {
      const int64_t first = piece * pieces.rows, last = std::min(first + pieces.rows, pieces.size.rows);
      backward_piece<kLoops>(call, n, first, last, partial ? partial + piece * 2 * n : nullptr);
    }
  });
  if (partial) add_pieces(pieces, partial, call.out<float>(1));
}

template <LoopsOf kLoops>
void add(KernelTable& table, std::string_view name) {
  table.add(ops::kLayerNormalization, DeviceKind::cpu,
            {name, unsupported_reason, nullptr, forward<kLoops>, true});
  table.add(ops::kLayerNormalizationBackward, DeviceKind::cpu,
            {name, unsupported_reason, backward_workspace, backward<kLoops>, true});
}

}  // namespace

void register_layer_normalization(KernelTable& table) {
  if (cpu_level() >= CpuLevel::avx512) add<layer_normalization_loops_avx512>(table, "avx512");
  if (cpu_level() >= CpuLevel::avx2) add<layer_normalization_loops_avx2>(table, "avx2");
}

}  // namespace nyala
