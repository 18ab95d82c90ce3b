// Sums of [outer, reduced, inner] blocks. The work is cut by shape alone and partial sums are added in double
// in their order, so that the bits do not depend on the number of threads.
#include <algorithm>
#include <numeric>

#include <nyala/backend/kernels/cpu/base/cpu_level.h>
#include <nyala/backend/kernels/cpu/elementwise/elementwise.h>
#include <nyala/backend/kernels/cpu/elementwise/elementwise_loops.h>
#include <nyala/backend/ops/base/kernel_table.h>
#include <nyala/backend/ops/base/reduction_axes.h>
#include <nyala/backend/ops/reduction/reduction.h>
#include <nyala/backend/runtime/parallel.h>

namespace nyala {

namespace {

using LoopsOf = const ElementwiseLoops& (*)();

constexpr int64_t kPiece = 32768;   // elements that one partial sum stands for
constexpr int64_t kGrain = 131072;  // elements that are worth a second thread
constexpr int64_t kTile = 1024;     // columns of one task
constexpr int64_t kLanes = 16;      // widths are made a multiple of this, the widest vector

/// How a block is cut. Where rows do not fill vectors, `fold` rows are seen side by side as one; rows that
/// are left over are added apart.
struct Cut {
  int64_t outer, reduced, inner;
  bool runs;  // inner is 1: contiguous runs
  int64_t fold = 1;
  int64_t width, rows;  // of the matrix that is summed by columns, after folding
  int64_t tiles, pieces, rows_per_piece;

  explicit Cut(const ReductionAxes& axes) : outer(axes.outer()), reduced(axes.group()), inner(axes.inner()) {
    runs = inner == 1;
    const int64_t rows_to_fill = kLanes / std::gcd(kLanes, inner);
    if (!runs && inner <= kTile / kLanes && reduced >= 4 * rows_to_fill) fold = rows_to_fill;
    width = runs ? 1 : inner * fold;
    rows = reduced / fold;
    tiles = (width + kTile - 1) / kTile;
    rows_per_piece = std::max<int64_t>(1, kPiece / std::min(width, kTile));
    pieces = (rows + rows_per_piece - 1) / rows_per_piece;
  }
  bool needs_partials() const { return pieces > 1 || fold > 1; }
  int64_t partial_bytes() const {
    const size_t each = runs ? sizeof(double) : sizeof(float);
    return needs_partials() ? outer * pieces * width * static_cast<int64_t>(each) : 0;
  }
};

Cut cut_of(const KernelCall& call) {
  return Cut(ReductionAxes(call.input(0).shape(), call.descriptor<ops::ReductionDescriptor>().axes));
}

const char* unsupported_sum(const KernelCall& call) {
  if (call.input(0).dtype() != DType::float32) return "the input is not float32";
  const ReductionAxes axes(call.input(0).shape(), call.descriptor<ops::ReductionDescriptor>().axes);
  return axes.is_block() ? nullptr : "the reduced axes are not neighbours";
}

size_t partial_bytes(const KernelCall& call) { return static_cast<size_t>(cut_of(call).partial_bytes()); }

template <LoopsOf loops_of>
void sum_runs(const KernelCall& call, const Cut& cut, double scale) {
  const float* x = call.in<float>(0);
  float* y = call.out<float>(0);
  double* partials = cut.needs_partials() ? call.workspace.raw_as<double>() : nullptr;
  const int64_t grain = std::max<int64_t>(1, kGrain / std::min(cut.reduced, cut.rows_per_piece));
  parallel_for(cut.outer * cut.pieces, grain, [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      const int64_t first = task % cut.pieces * cut.rows_per_piece;
      const int64_t count = std::min(cut.rows_per_piece, cut.reduced - first);
      const double total = loops_of().sum(x + task / cut.pieces * cut.reduced + first, count);
      if (partials)
        partials[task] = total;
      else
        y[task] = static_cast<float>(total * scale);
    }
  });
  if (!partials) return;
  for (int64_t o = 0; o < cut.outer; ++o) {
    double total = 0;
    for (int64_t piece = 0; piece < cut.pieces; ++piece) total += partials[o * cut.pieces + piece];
    y[o] = static_cast<float>(total * scale);
  }
}

/// y[o, c] from the column sums of the pieces, and the rows that the fold left over.
void combine_columns(const KernelCall& call, const Cut& cut, double scale) {
  const float* x = call.in<float>(0);
  const float* partials = call.workspace.raw_as<float>();
  float* y = call.out<float>(0);
  const int64_t left_over = cut.rows * cut.fold;
  const int64_t work_each = cut.pieces * cut.fold + cut.reduced - left_over;
  parallel_for(
      cut.outer * cut.inner, std::max<int64_t>(1, kGrain / work_each), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const int64_t o = i / cut.inner, c = i % cut.inner;
          double total = 0;
          for (int64_t piece = 0; piece < cut.pieces; ++piece)
            for (int64_t k = 0; k < cut.fold; ++k)
              total +=
                  static_cast<double>(partials[(o * cut.pieces + piece) * cut.width + k * cut.inner + c]);
          for (int64_t row = left_over; row < cut.reduced; ++row)
            total += static_cast<double>(x[(o * cut.reduced + row) * cut.inner + c]);
          y[i] = static_cast<float>(total * scale);
        }
      });
}

template <LoopsOf loops_of>
void sum_columns(const KernelCall& call, const Cut& cut, double scale) {
  const float* x = call.in<float>(0);
  float* sums = cut.needs_partials() ? call.workspace.raw_as<float>() : call.out<float>(0);
  const int64_t work_each = std::min(cut.rows, cut.rows_per_piece) * std::min(cut.width, kTile);
  const int64_t per_outer = cut.pieces * cut.tiles;
  parallel_for(cut.outer * per_outer, std::max<int64_t>(1, kGrain / work_each),
               [&](int64_t begin, int64_t end) {
                 for (int64_t task = begin; task < end; ++task) {
                   const int64_t o = task / per_outer, piece = task % per_outer / cut.tiles,
                                 column = task % cut.tiles * kTile;
                   const int64_t first = piece * cut.rows_per_piece;
                   const float* block = x + o * cut.reduced * cut.inner + first * cut.width + column;
                   float* out = sums + (o * cut.pieces + piece) * cut.width + column;
                   const int64_t rows = std::min(cut.rows_per_piece, cut.rows - first);
                   loops_of().column_sums({block, cut.width, rows, std::min(kTile, cut.width - column)}, out);
                 }
               });
  if (cut.needs_partials())
    combine_columns(call, cut, scale);
  else if (scale != 1.0)
    for (int64_t i = 0; i < cut.outer * cut.inner; ++i)
      sums[i] = static_cast<float>(static_cast<double>(sums[i]) * scale);
}

template <LoopsOf loops_of, bool kMean>
void run_sum(const KernelCall& call) {
  const Cut cut = cut_of(call);
  const double scale = kMean ? 1.0 / static_cast<double>(cut.reduced) : 1.0;
  cut.runs ? sum_runs<loops_of>(call, cut, scale) : sum_columns<loops_of>(call, cut, scale);
}

const char* unsupported_spread(const KernelCall& call) {
  if (call.input(0).dtype() != DType::float32) return "the input is not float32";
  const auto& d = call.descriptor<ops::SpreadDescriptor>();
  return ReductionAxes(d.shape, d.axes).is_block() ? nullptr : "the reduced axes are not neighbours";
}

void run_spread(const KernelCall& call) {
  const auto& d = call.descriptor<ops::SpreadDescriptor>();
  const ReductionAxes axes(d.shape, d.axes);
  const int64_t reduced = axes.group(), inner = axes.inner();
  const float scale = static_cast<float>(d.scale);
  const float* dy = call.in<float>(0);
  float* dx = call.out<float>(0);
  parallel_for(axes.outer() * reduced, std::max<int64_t>(1, kGrain / inner), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end;) {
      const int64_t o = row / reduced, last = std::min(end, (o + 1) * reduced);
      if (inner == 1) {
        std::fill(dx + row, dx + last, dy[o] * scale);
      } else {
        for (int64_t r = row; r < last; ++r)
          for (int64_t c = 0; c < inner; ++c) dx[r * inner + c] = dy[o * inner + c] * scale;
      }
      row = last;
    }
  });
}

template <LoopsOf loops_of>
void add_sums(KernelTable& table, std::string_view name) {
  table.add(ops::kSum, DeviceKind::cpu, {name, unsupported_sum, partial_bytes, run_sum<loops_of, false>});
  table.add(ops::kMean, DeviceKind::cpu, {name, unsupported_sum, partial_bytes, run_sum<loops_of, true>});
}

}  // namespace

void register_reductions(KernelTable& table) {
  if (cpu_level() >= CpuLevel::avx512) add_sums<elementwise_loops_avx512>(table, "avx512");
  if (cpu_level() >= CpuLevel::avx2) add_sums<elementwise_loops_avx2>(table, "avx2");
  table.add(ops::kSpread, DeviceKind::cpu, {"blocks", unsupported_spread, nullptr, run_spread});
}

}  // namespace nyala
