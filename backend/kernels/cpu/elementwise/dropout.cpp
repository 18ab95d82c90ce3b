// No mask is kept: a draw is a function of seed, step and place (ops::DropoutPlan), which backward computes
// again. Philox blocks are computed side by side, one per lane; draws are numbered so that the words of 16
// blocks are 64 elements in order and every store is a whole vector. 16-bit floats are widened a tile at a
// time.
#include <algorithm>

#include <nyala/backend/kernels/cpu/base/cpu_level.h>
#include <nyala/backend/kernels/cpu/base/wide_runs.h>
#include <nyala/backend/kernels/cpu/elementwise/dropout.h>
#include <nyala/backend/ops/base/broadcasting.h>
#include <nyala/backend/ops/base/kernel_table.h>
#include <nyala/backend/ops/base/strided_copy.h>
#include <nyala/backend/ops/nn/dropout.h>
#include <nyala/backend/runtime/parallel.h>

namespace nyala {

namespace {

using RunDraws = void (*)(const DropoutRun&);

const char* unsupported_reason(const KernelCall& call) {
  if (!is_narrow_float(call.output(0).dtype())) return "float32 and 16-bit floats only";
  if (is_half(call.output(0).dtype()) && call.descriptor<ops::DropoutDescriptor>().noise_axes != 0)
    return "draws that axes of 16-bit floats share";
  return call.descriptor<ops::DropoutDescriptor>().rate < 1.0 ? nullptr : "a rate below 1 only";
}

/// Where axes share draws the noise is made first.
size_t workspace(const KernelCall& call) {
  if (call.descriptor<ops::DropoutDescriptor>().noise_axes == 0) return 0;
  return static_cast<size_t>(ops::detail::dropout_plan(call).noise.num_elements()) * sizeof(float);
}

void run_draws(RunDraws run, const DropoutRun& all) {
  parallel_for(all.count, kParallelGrain / 4, [&](int64_t begin, int64_t end) {
    DropoutRun piece = all;
    if (piece.x) piece.x += begin;
    piece.y += begin;
    piece.first_draw += begin;
    piece.count = end - begin;
    run(piece);
  });
}

/// y = x * noise, the noise broadcast to x, by lines along the last axis.
void apply_noise(const KernelCall& call, const Shape& noise_shape) {
  const Shape& shape = call.output(0).shape();
  const auto strides = broadcast_strides(noise_shape, shape);
  StridedCopy whole;
  int64_t stride = shape.num_elements();
  for (int axis = 0; axis < shape.rank(); ++axis) {
    stride /= shape[axis];
    whole.add_axis(shape[axis], strides[static_cast<size_t>(axis)], stride);
  }
  const StridedCopy c = whole.merged();
  const size_t last = static_cast<size_t>(c.rank - 1);
  const int64_t length = c.sizes[last], lines = c.num_elements() / length;
  parallel_for(lines, std::max<int64_t>(1, kParallelGrain / length), [&](int64_t begin, int64_t end) {
    StridedWalk at(c, c.rank - 1, begin);
    for (int64_t line = begin; line < end; ++line, at.advance()) {
      const float* factors = call.workspace.raw_as<float>() + at.from;
      const float* x = call.in<float>(0) + at.to;
      float* y = call.out<float>(0) + at.to;
      if (c.from[last] == 1)
        for (int64_t i = 0; i < length; ++i) y[i] = factors[i] == 0.0f ? 0.0f : x[i] * factors[i];
      else
        for (int64_t i = 0; i < length; ++i) y[i] = *factors == 0.0f ? 0.0f : x[i] * *factors;
    }
  });
}

/// `all` but for x and y.
template <RunDraws kRun>
void run_half(const KernelCall& call, const DropoutRun& all) {
  const WideInput x(call.input(0));
  const WideOutput y(call.output(0));
  parallel_for(all.count, kParallelGrain / 4, [&](int64_t begin, int64_t end) {
    for_each_tile(true, begin, end, [&](int64_t first, int64_t count) {
      float wide[kWideRun], results[kWideRun];
      DropoutRun tile = all;
      tile.x = x.read(first, count, wide);
      tile.y = results;
      tile.first_draw += first;
      tile.count = count;
      kRun(tile);
      y.write(first, count, results);
    });
  });
}

template <RunDraws kRun>
void run_dropout(const KernelCall& call) {
  const ops::DropoutPlan plan = ops::detail::dropout_plan(call);
  const bool shared = call.workspace.defined(), half = is_half(call.output(0).dtype());
  const DropoutRun run{.x = shared || half ? nullptr : call.in<float>(0),
                       .y = shared ? call.workspace.raw_as<float>()
                            : half ? nullptr
                                   : call.out<float>(0),
                       .count = plan.noise.num_elements(),
                       .first_draw = plan.first_draw,
                       .key = plan.key,
                       .step = plan.step,
                       .threshold = static_cast<uint32_t>(std::min<uint64_t>(plan.threshold, UINT32_MAX)),
                       .scale = static_cast<float>(plan.scale)};
  if (half) return run_half<kRun>(call, run);
  run_draws(kRun, run);
  if (shared) apply_noise(call, plan.noise);
}

}  // namespace

void register_dropout(KernelTable& table) {
  const auto add = [&](std::string_view name, void (*run)(const KernelCall&)) {
    table.add(ops::kDropout, DeviceKind::cpu, {name, unsupported_reason, workspace, run, true});
  };
  if (cpu_level() >= CpuLevel::avx512) add("avx512", run_dropout<dropout_run_avx512>);
  if (cpu_level() >= CpuLevel::avx2) add("avx2", run_dropout<dropout_run_avx2>);
}

}  // namespace nyala
