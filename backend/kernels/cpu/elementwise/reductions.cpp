// Sums of [outer, reduced, inner] blocks. The work is cut by shape alone and partial sums are added in double
// in their order, so that the bits do not depend on the number of threads. 16-bit floats are widened a few
// rows at a time, and their sums are narrowed at the end.
#include <algorithm>
#include <numeric>

#include <nyala/backend/kernels/cpu/base/cpu_level.h>
#include <nyala/backend/kernels/cpu/base/wide_runs.h>
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
  bool wide;  // 16-bit floats, whose sums do not go where the results go
  bool runs;  // inner is 1: contiguous runs
  int64_t fold = 1;
  int64_t width, rows;  // of the matrix that is summed by columns, after folding
  int64_t tiles, pieces, rows_per_piece;

  Cut(const ReductionAxes& axes, bool is_wide)
      : outer(axes.outer()), reduced(axes.group()), inner(axes.inner()), wide(is_wide) {
    runs = inner == 1;
    const int64_t rows_to_fill = kLanes / std::gcd(kLanes, inner);
    if (!runs && inner <= kTile / kLanes && reduced >= 4 * rows_to_fill) fold = rows_to_fill;
    width = runs ? 1 : inner * fold;
    rows = reduced / fold;
    tiles = (width + kTile - 1) / kTile;
    rows_per_piece = std::max<int64_t>(1, kPiece / std::min(width, kTile));
    pieces = (rows + rows_per_piece - 1) / rows_per_piece;
  }
  bool needs_partials() const { return pieces > 1 || fold > 1 || wide; }
  int64_t partial_bytes() const {
    const size_t each = runs ? sizeof(double) : sizeof(float);
    return needs_partials() ? outer * pieces * width * static_cast<int64_t>(each) : 0;
  }
};

Cut cut_of(const KernelCall& call) {
  return Cut(ReductionAxes(call.input(0).shape(), call.descriptor<ops::ReductionDescriptor>().axes),
             is_half(call.input(0).dtype()));
}

const char* unsupported_sum(const KernelCall& call) {
  if (!is_narrow_float(call.input(0).dtype())) return "the input is not float32";
  const ReductionAxes axes(call.input(0).shape(), call.descriptor<ops::ReductionDescriptor>().axes);
  return axes.is_block() ? nullptr : "the reduced axes are not neighbours";
}

size_t partial_bytes(const KernelCall& call) { return static_cast<size_t>(cut_of(call).partial_bytes()); }

/// The sum of `count` elements from `first` on.
template <LoopsOf loops_of>
double sum_run(const WideInput& x, int64_t first, int64_t count) {
  double total = 0;
  for_each_tile(x.is_widened(), first, first + count, [&](int64_t at, int64_t size) {
    float wide[kWideRun];
    total += loops_of().sum(x.read(at, size, wide), size);
  });
  return total;
}

template <LoopsOf loops_of>
void sum_runs(const KernelCall& call, const Cut& cut, double scale) {
  const WideInput x(call.input(0));
  const WideOutput y(call.output(0));
  double* partials = cut.needs_partials() ? call.workspace.raw_as<double>() : nullptr;
  const int64_t grain = std::max<int64_t>(1, kGrain / std::min(cut.reduced, cut.rows_per_piece));
  parallel_for(cut.outer * cut.pieces, grain, [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      const int64_t first = task % cut.pieces * cut.rows_per_piece;
      const int64_t count = std::min(cut.rows_per_piece, cut.reduced - first);
      const double total = sum_run<loops_of>(x, task / cut.pieces * cut.reduced + first, count);
      if (partials)
        partials[task] = total;
      else
        *y.place(task, nullptr) = static_cast<float>(total * scale);
    }
  });
  if (!partials) return;
  for_each_tile(cut.wide, 0, cut.outer, [&](int64_t first, int64_t count) {
    float results[kWideRun];
    float* place = y.place(first, results);
    for (int64_t o = first; o < first + count; ++o) {
      double total = 0;
      for (int64_t piece = 0; piece < cut.pieces; ++piece) total += partials[o * cut.pieces + piece];
      place[o - first] = static_cast<float>(total * scale);
    }
    y.write(first, count, place);
  });
}

/// y[o, c] from the column sums of the pieces, and the rows that the fold left over.
void combine_columns(const KernelCall& call, const Cut& cut, double scale) {
  const WideInput x(call.input(0));
  const WideOutput y(call.output(0));
  const float* partials = call.workspace.raw_as<float>();
  const int64_t left_over = cut.rows * cut.fold;
  const int64_t work_each = cut.pieces * cut.fold + cut.reduced - left_over;
  const auto column = [&](int64_t o, int64_t c) {
    double total = 0;
    for (int64_t piece = 0; piece < cut.pieces; ++piece)
      for (int64_t k = 0; k < cut.fold; ++k)
        total += static_cast<double>(partials[(o * cut.pieces + piece) * cut.width + k * cut.inner + c]);
    for (int64_t row = left_over; row < cut.reduced; ++row) {
      float wide;
      total += static_cast<double>(*x.read((o * cut.reduced + row) * cut.inner + c, 1, &wide));
    }
    return total;
  };
  parallel_for(cut.outer * cut.inner, std::max<int64_t>(1, kGrain / work_each),
               [&](int64_t begin, int64_t end) {
                 for_each_tile(cut.wide, begin, end, [&](int64_t first, int64_t count) {
                   float results[kWideRun];
                   float* place = y.place(first, results);
                   for (int64_t i = first; i < first + count; ++i)
                     place[i - first] = static_cast<float>(column(i / cut.inner, i % cut.inner) * scale);
                   y.write(first, count, place);
                 });
               });
}

/// Rows of a matrix `width` wide, of which `columns` from `first` on are summed, as ElementwiseLoops does.
struct ColumnBlock {
  int64_t first, width, rows, columns;
};

template <LoopsOf loops_of>
void sum_block(const WideInput& x, const ColumnBlock& block, float* out) {
  constexpr int64_t kMost = 4 * kWideRun;
  if (!x.is_widened()) {
    loops_of().column_sums({x.read(block.first, 0, nullptr), block.width, block.rows, block.columns}, out);
    return;
  }
  const int64_t step = std::max<int64_t>(1, kMost / block.columns);
  for (int64_t row = 0; row < block.rows; row += step) {
    const int64_t rows = std::min(step, block.rows - row);
    float wide[kMost], more[kTile];
    if (block.columns == block.width)
      x.read(block.first + row * block.width, rows * block.width, wide);
    else
      for (int64_t i = 0; i < rows; ++i)
        x.read(block.first + (row + i) * block.width, block.columns, wide + i * block.columns);
    loops_of().column_sums({wide, block.columns, rows, block.columns}, row == 0 ? out : more);
    for (int64_t c = 0; row > 0 && c < block.columns; ++c) out[c] += more[c];
  }
}

template <LoopsOf loops_of>
void sum_columns(const KernelCall& call, const Cut& cut, double scale) {
  const WideInput x(call.input(0));
  float* sums = cut.needs_partials() ? call.workspace.raw_as<float>() : call.out<float>(0);
  const int64_t work_each = std::min(cut.rows, cut.rows_per_piece) * std::min(cut.width, kTile);
  const int64_t per_outer = cut.pieces * cut.tiles;
  parallel_for(cut.outer * per_outer, std::max<int64_t>(1, kGrain / work_each),
               [&](int64_t begin, int64_t end) {
                 for (int64_t task = begin; task < end; ++task) {
                   const int64_t o = task / per_outer, piece = task % per_outer / cut.tiles,
                                 column = task % cut.tiles * kTile;
                   const int64_t first = piece * cut.rows_per_piece;
                   const ColumnBlock block{o * cut.reduced * cut.inner + first * cut.width + column,
                                           cut.width, std::min(cut.rows_per_piece, cut.rows - first),
                                           std::min(kTile, cut.width - column)};
                   sum_block<loops_of>(x, block, sums + (o * cut.pieces + piece) * cut.width + column);
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
  if (!is_narrow_float(call.input(0).dtype())) return "the input is not float32";
  const auto& d = call.descriptor<ops::SpreadDescriptor>();
  return ReductionAxes(d.shape, d.axes).is_block() ? nullptr : "the reduced axes are not neighbours";
}

/// A tile of a row is scaled once and its bits are copied.
void spread_half(const KernelCall& call, const ReductionAxes& axes, float scale) {
  const WideInput dy(call.input(0));
  const HalfLoops& loops = half_loops(call.output(0).dtype());
  uint16_t* dx = call.out<uint16_t>(0);
  const int64_t reduced = axes.group(), inner = axes.inner();
  parallel_for(axes.outer(), std::max<int64_t>(1, kGrain / (reduced * inner)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t o = begin; o < end; ++o)
                   for_each_tile(true, 0, inner, [&](int64_t first, int64_t count) {
                     float wide[kWideRun];
                     uint16_t bits[kWideRun];
                     dy.read(o * inner + first, count, wide);
                     for (int64_t i = 0; i < count; ++i) wide[i] *= scale;
                     loops.narrow(wide, bits, count);
                     uint16_t* to = dx + o * reduced * inner + first;
                     if (inner == 1)
                       std::fill_n(to, reduced, bits[0]);
                     else
                       for (int64_t r = 0; r < reduced; ++r) std::copy_n(bits, count, to + r * inner);
                   });
               });
}

void run_spread(const KernelCall& call) {
  const auto& d = call.descriptor<ops::SpreadDescriptor>();
  const ReductionAxes axes(d.shape, d.axes);
  if (is_half(call.output(0).dtype())) return spread_half(call, axes, static_cast<float>(d.scale));
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
  table.add(ops::kSum, DeviceKind::cpu,
            {name, unsupported_sum, partial_bytes, run_sum<loops_of, false>, true});
  table.add(ops::kMean, DeviceKind::cpu,
            {name, unsupported_sum, partial_bytes, run_sum<loops_of, true>, true});
}

}  // namespace

void register_reductions(KernelTable& table) {
  if (cpu_level() >= CpuLevel::avx512) add_sums<elementwise_loops_avx512>(table, "avx512");
  if (cpu_level() >= CpuLevel::avx2) add_sums<elementwise_loops_avx2>(table, "avx2");
  table.add(ops::kSpread, DeviceKind::cpu, {"blocks", unsupported_spread, nullptr, run_spread, true});
}

}  // namespace nyala
