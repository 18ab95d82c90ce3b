// The slope of the activations that layers fuse follows from their result y, so that z is never kept: relu y
// > 0, sigmoid y (1 - y), tanh 1 - y^2. dz and its sums over rows, which are the gradient of the bias, come
// from one pass. Sums per run are folded over the channels in double, in the order of the runs. 16-bit floats
// are widened part by part, their sums are float32.
#include <nyala/backend/kernels/cpu/base/cpu_level.h>
#include <nyala/backend/kernels/cpu/base/wide_runs.h>
#include <nyala/backend/kernels/cpu/elementwise/channel_runs.h>
#include <nyala/backend/kernels/cpu/elementwise/fused_activation.h>
#include <nyala/backend/ops/base/kernel_table.h>
#include <nyala/backend/ops/elementwise/fused_activation.h>

namespace nyala {

namespace {

using LoopsOf = const PeriodicLoops& (*)();

constexpr int64_t kBuffer = PeriodicLoops::kMaxPeriod;

ChannelRuns runs_of(const KernelCall& call) {
  const bool with_channels = call.op != &ops::kActivationBackward;
  return {call.input(0).num_elements(), with_channels ? call.input(0).shape().back() : 1};
}

const char* unsupported_reason(const KernelCall& call) {
  if (!is_narrow_float(call.input(0).dtype())) return "float32 and 16-bit floats only";
  return runs_of(call).possible() ? nullptr : "too many channels that are no multiple of 16";
}

size_t workspace(const KernelCall& call) {
  const ChannelRuns runs = runs_of(call);
  return static_cast<size_t>(runs.pieces() * runs.period()) * sizeof(float);
}

/// Adds the sums of all pieces in their order.
void fold_pieces(const ChannelRuns& runs, const float* partial, float* sums) {
  for (int64_t c = 0; c < runs.channels(); ++c) {
    double total = 0.0;
    for (int64_t piece = 0; piece < runs.pieces(); ++piece)
      total += runs.fold(partial + piece * runs.period(), c);
    sums[c] = static_cast<float>(total);
  }
}

template <LoopsOf kLoops>
void bias_gradient(const KernelCall& call) {
  const ChannelRuns runs = runs_of(call);
  float* partial = call.workspace.raw_as<float>();
  const WideInput x(call.input(0));
  runs.for_each([&](int64_t piece, int64_t first, PeriodicLoops::Run run) {
    sum_parts<1>(x.is_widened(), run, partial + piece * runs.period(),
                 [&](int64_t at, PeriodicLoops::Run part, float* out) {
                   float wide[kBuffer];
                   kLoops().sums(part, x.read(first + at, part.count, wide), out);
                 });
  });
  fold_pieces(runs, partial, call.out<float>(0));
}

PeriodicLoops::ActivationBackward loop_of(const PeriodicLoops& loops, ops::Activation activation) {
  switch (activation) {
    case ops::Activation::sigmoid:
      return loops.sigmoid_backward;
    case ops::Activation::tanh:
      return loops.tanh_backward;
    case ops::Activation::relu6:
      return loops.relu6_backward;
    default:
      return loops.relu_backward;
  }
}

template <LoopsOf kLoops>
void activation_backward(const KernelCall& call) {
  const ChannelRuns runs = runs_of(call);
  const auto loop = loop_of(kLoops(), call.descriptor<ops::ActivationDescriptor>().activation);
  float* partial = call.workspace.raw_as<float>();
  const WideInput dy(call.input(0)), y(call.input(1));
  const WideOutput dz(call.output(0));
  runs.for_each([&](int64_t piece, int64_t start, PeriodicLoops::Run run) {
    sum_parts<1>(dy.is_widened(), run, partial + piece * runs.period(),
                 [&](int64_t at, PeriodicLoops::Run part, float* sums) {
                   float wide_dy[kBuffer], wide_y[kBuffer];
                   const int64_t first = start + at;
                   const float* gradient = dy.read(first, part.count, wide_dy);
                   float* place = dz.place(first, wide_dy);  // element by element: over what is read
                   loop(part, gradient, y.read(first, part.count, wide_y), place, sums);
                   dz.write(first, part.count, place);
                 });
  });
  if (call.op == &ops::kActivationBackwardWithBias) fold_pieces(runs, partial, call.out<float>(1));
}

template <LoopsOf kLoops>
void add(KernelTable& table, std::string_view name) {
  table.add(ops::kBiasGradient, DeviceKind::cpu,
            {name, unsupported_reason, workspace, bias_gradient<kLoops>, true});
  for (const OpDef* op : {&ops::kActivationBackward, &ops::kActivationBackwardWithBias})
    table.add(*op, DeviceKind::cpu, {name, unsupported_reason, workspace, activation_backward<kLoops>, true});
}

}  // namespace

void register_fused_activation(KernelTable& table) {
  if (cpu_level() >= CpuLevel::avx512) add<periodic_loops_avx512>(table, "avx512");
  if (cpu_level() >= CpuLevel::avx2) add<periodic_loops_avx2>(table, "avx2");
}

}  // namespace nyala
