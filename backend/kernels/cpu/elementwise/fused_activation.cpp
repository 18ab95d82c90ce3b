// The slope of the activations that layers fuse follows from their result y, so that z is never kept: relu y
// > 0, sigmoid y (1 - y), tanh 1 - y^2. dz and its sums over rows, which are the gradient of the bias, come
// from one pass. Sums per run are folded over the channels in double, in the order of the runs.
#include <nyala/backend/kernels/cpu/base/cpu_level.h>
#include <nyala/backend/kernels/cpu/elementwise/channel_runs.h>
#include <nyala/backend/kernels/cpu/elementwise/fused_activation.h>
#include <nyala/backend/ops/base/kernel_table.h>
#include <nyala/backend/ops/elementwise/fused_activation.h>

namespace nyala {

namespace {

using LoopsOf = const PeriodicLoops& (*)();

ChannelRuns runs_of(const KernelCall& call) {
  const bool with_channels = call.op != &ops::kActivationBackward;
  return {call.input(0).num_elements(), with_channels ? call.input(0).shape().back() : 1};
}

const char* unsupported_reason(const KernelCall& call) {
  if (call.input(0).dtype() != DType::float32) return "float32 only";
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
  runs.for_each([&](int64_t piece, int64_t first, PeriodicLoops::Run run) {
    kLoops().sums(run, call.in<float>(0) + first, partial + piece * runs.period());
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
  runs.for_each([&](int64_t piece, int64_t first, PeriodicLoops::Run run) {
    loop(run, call.in<float>(0) + first, call.in<float>(1) + first, call.out<float>(0) + first,
         partial + piece * runs.period());
  });
  if (call.op == &ops::kActivationBackwardWithBias) fold_pieces(runs, partial, call.out<float>(1));
}

template <LoopsOf kLoops>
void add(KernelTable& table, std::string_view name) {
  table.add(ops::kBiasGradient, DeviceKind::cpu,
            {name, unsupported_reason, workspace, bias_gradient<kLoops>});
  for (const OpDef* op : {&ops::kActivationBackward, &ops::kActivationBackwardWithBias})
    table.add(*op, DeviceKind::cpu, {name, unsupported_reason, workspace, activation_backward<kLoops>});
}

}  // namespace

void register_fused_activation(KernelTable& table) {
  if (cpu_level() >= CpuLevel::avx512) add<periodic_loops_avx512>(table, "avx512");
  if (cpu_level() >= CpuLevel::avx2) add<periodic_loops_avx2>(table, "avx2");
}

}  // namespace nyala
