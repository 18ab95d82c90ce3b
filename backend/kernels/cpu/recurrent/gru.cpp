// Cho et al. 2014 in the form reset_after (Keras' default): the reset gate is applied after the product with
// the recurrent kernel, so that one product of h serves all three gates. Otherwise as lstm.cpp; for backward
// the recurrent part of n is kept beside the gates, because the gradient of r needs it.
#include <algorithm>

#include <nyala/backend/kernels/cpu/base/cpu_level.h>
#include <nyala/backend/kernels/cpu/recurrent/gru.h>
#include <nyala/backend/kernels/cpu/recurrent/recurrent_kernels.h>
#include <nyala/backend/ops/base/kernel_table.h>
#include <nyala/backend/ops/nn/gru.h>
#include <nyala/backend/runtime/parallel.h>

namespace nyala {

namespace {

const char* unsupported_reason(const KernelCall& call) {
  return call.output(0).dtype() == DType::float32 ? nullptr : "float32 only";
}

RecurrentLoops::Common common_of(const ops::RecurrentOptions& options, int64_t units, int64_t time) {
  return {.rows = 0,
          .units = units,
          .packed = nullptr,
          .counts = nullptr,
          .counts_stride = time,
          .activation = activation_of(options.activation),
          .recurrent = activation_of(options.recurrent_activation)};
}

template <RecurrentLoopsOf kLoops>
size_t forward_workspace(const KernelCall& call) {
  return workspace_for(kLoops().packed_forward(call.input(1).shape()[0], 3) + call.output(1).num_elements());
}

/// Rows [first, first + rows) of a call; `spare` holds states of the whole batch.
void run_forward(const KernelCall& call, const RecurrentLoops& loops, RecurrentLoops::Common common,
                 int64_t first, float* spare) {
  const auto& d = call.descriptor<ops::GruDescriptor>();
  const ops::GruForwardInputs in = ops::detail::gru_forward_inputs(call);
  const int64_t u = common.units, time = common.counts_stride, floats = common.rows * u;
  const SequenceRows rows({first, common.rows, {0, time, u, d.go_backwards}, &d, in.mask});
  float *h = call.out<float>(1) + first * u, *other = spare + first * u;
  float* const result = h;
  std::copy_n(call.in<float>(2) + first * u, floats, h);
  for (int64_t step = 0; step < time; ++step) {
    if (d.keeps) rows.spread(h, call.out<float>(3), step);
    common.counts = rows.counts(step);
    const int64_t place = rows.at(step) * u;
    loops.gru_forward({.common = common,
                       .x = call.in<float>(0) + 3 * place,
                       .stride = time * 3 * u,
                       .bias = in.bias ? in.bias->raw_as<float>() : nullptr,
                       .h = h,
                       .h_next = other,
                       .gates = d.keeps ? call.out<float>(2) + 4 * place : nullptr,
                       .gates_stride = time * 4 * u});
    std::swap(h, other);
    if (rows.is_output(step)) rows.show(h, call.out<float>(0), step);
  }
  if (h != result) std::copy_n(h, floats, result);
}

template <RecurrentLoopsOf kLoops>
void forward(const KernelCall& call) {
  const RecurrentLoops& loops = kLoops();
  const Shape& x = call.input(0).shape();
  auto common = common_of(call.descriptor<ops::GruDescriptor>(), call.input(1).shape()[0], x[1]);
  float* packed = aligned_floats(call.workspace);
  common.packed = packed;
  pack_forward(loops, call.input(1), packed);
  parallel_for(x[0], kRowsOfPiece, [&](int64_t begin, int64_t end) {
    RecurrentLoops::Common piece = common;
    piece.rows = end - begin;
    run_forward(call, loops, piece, begin, packed + loops.packed_forward(common.units, 3));
  });
}

template <RecurrentLoopsOf kLoops>
size_t backward_workspace(const KernelCall& call) {
  return workspace_for(kLoops().packed_backward(call.output(2).shape()[1], 3));
}

void run_backward(const KernelCall& call, const RecurrentLoops& loops, RecurrentLoops::Common common,
                  int64_t first) {
  const auto& d = call.descriptor<ops::GruBackwardDescriptor>().forward;
  const ops::GruBackwardInputs in = ops::detail::gru_backward_inputs(call);
  const auto sizes = ops::detail::gru_sizes(in.gates->shape(), d.go_backwards);
  const SequenceRows rows({first, common.rows, sizes, &d, in.mask});
  const int64_t u = sizes.units;
  float* dh = call.out<float>(2) + first * u;
  rows.begin(in.h, dh);
  for (int64_t step = sizes.time - 1; step >= 0; --step) {
    if (in.output && rows.is_output(step)) rows.add_output(in.output->raw_as<float>(), dh, step);
    common.counts = rows.counts(step);
    const int64_t place = rows.at(step) * u;
    loops.gru_backward({.common = common,
                        .gates = in.gates->raw_as<float>() + 4 * place,
                        .h_before = in.h_before->raw_as<float>() + place,
                        .gates_stride = sizes.time * 4 * u,
                        .h_stride = sizes.time * u,
                        .dx = call.out<float>(0) + 3 * place,
                        .drecurrent = call.out<float>(1) + 3 * place,
                        .stride = sizes.time * 3 * u,
                        .dh = dh});
  }
}

template <RecurrentLoopsOf kLoops>
void backward(const KernelCall& call) {
  const RecurrentLoops& loops = kLoops();
  const ops::GruBackwardInputs in = ops::detail::gru_backward_inputs(call);
  auto common = common_of(call.descriptor<ops::GruBackwardDescriptor>().forward, call.output(2).shape()[1],
                          in.gates->shape()[1]);
  float* packed = aligned_floats(call.workspace);
  common.packed = packed;
  pack_backward(loops, *in.recurrent_kernel, packed);
  parallel_for(call.output(2).shape()[0], kRowsOfPiece, [&](int64_t begin, int64_t end) {
    RecurrentLoops::Common piece = common;
    piece.rows = end - begin;
    run_backward(call, loops, piece, begin);
  });
}

template <RecurrentLoopsOf kLoops>
void add(KernelTable& table, std::string_view name) {
  table.add(ops::kGru, DeviceKind::cpu,
            {name, unsupported_reason, forward_workspace<kLoops>, forward<kLoops>});
  table.add(ops::kGruBackward, DeviceKind::cpu,
            {name, unsupported_reason, backward_workspace<kLoops>, backward<kLoops>});
}

}  // namespace

void register_gru(KernelTable& table) {
  if (cpu_level() >= CpuLevel::avx512) add<recurrent_loops_avx512>(table, "avx512");
  if (cpu_level() >= CpuLevel::avx2) add<recurrent_loops_avx2>(table, "avx2");
}

}  // namespace nyala
