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

RecurrentLoops::Common common_of(const ops::RecurrentOptions& options, int64_t units, int64_t time) {
  return {.rows = 0,
          .units = units,
          .packed = nullptr,
          .counts = nullptr,
          .counts_stride = time,
          .activation = activation_of(options.activation),
          .recurrent = activation_of(options.recurrent_activation)};
}

/// The packed kernel; for all rows states, and what is a step of a 16-bit tensor as float32.
struct ForwardBuffers {
  float *packed, *other, *h, *x, *gates, *bias;

  ForwardBuffers(const KernelCall& call, const RecurrentLoops& loops, Scratch& scratch) {
    const int64_t states = call.output(1).num_elements(), units = call.input(1).shape()[0];
    packed = scratch.take(loops.packed_forward(units, 3));
    other = scratch.take(states);
    h = wide_buffer(call.output(1), states, scratch);
    x = wide_buffer(call.input(0), 3 * states, scratch);
    gates = wide_buffer(call.output(2), 4 * states, scratch);
    bias = wide_buffer(call.input(0), 3 * units, scratch);
  }
};

template <RecurrentLoopsOf kLoops>
size_t forward_workspace(const KernelCall& call) {
  Scratch scratch;
  const ForwardBuffers counted(call, kLoops(), scratch);
  return workspace_for(scratch.taken());
}

/// Rows [first, first + rows) of a call; `bias` is that of the recurrent product.
void run_forward(const KernelCall& call, const RecurrentLoops& loops, RecurrentLoops::Common common,
                 int64_t first, const ForwardBuffers& buffers, const float* bias) {
  const auto& d = call.descriptor<ops::GruDescriptor>();
  const int64_t u = common.units, time = common.counts_stride, floats = common.rows * u;
  const SequenceRows rows(
      {first, common.rows, {0, time, u, d.go_backwards}, &d, ops::detail::gru_forward_inputs(call).mask});
  const WideInput x(call.input(0));
  const WideOutput last_h(call.output(1)), gates(call.output(2));
  float *h = last_h.place(first * u, row_of(buffers.h, first, u)), *other = row_of(buffers.other, first, u);
  float* const result = h;
  WideInput(call.input(2)).load(first * u, floats, h);
  for (int64_t step = 0; step < time; ++step) {
    if (d.keeps) rows.spread(h, call.output(3), step);
    common.counts = rows.counts(step);
    const RowsAt of_gates = rows.step(step, 4 * u);
    const FloatRows<const float> in = x.read_rows(rows.step(step, 3 * u), row_of(buffers.x, first, 3 * u));
    const FloatRows<float> kept = d.keeps ? gates.place_rows(of_gates, row_of(buffers.gates, first, 4 * u))
                                          : FloatRows<float>{nullptr, 0};
    loops.gru_forward({.common = common,
                       .x = in.data,
                       .stride = in.stride,
                       .bias = bias,
                       .h = h,
                       .h_next = other,
                       .gates = kept.data,
                       .gates_stride = kept.stride});
    if (d.keeps) gates.write_rows(of_gates, kept.data);
    std::swap(h, other);
    if (rows.is_output(step)) rows.show(h, call.output(0), step);
  }
  if (h != result) std::copy_n(h, floats, result);
  last_h.write(first * u, floats, result);
}

template <RecurrentLoopsOf kLoops>
void forward(const KernelCall& call) {
  const RecurrentLoops& loops = kLoops();
  const Shape& x = call.input(0).shape();
  const Tensor* bias = ops::detail::gru_forward_inputs(call).bias;
  auto common = common_of(call.descriptor<ops::GruDescriptor>(), call.input(1).shape()[0], x[1]);
  Scratch scratch(aligned_floats(call.workspace));
  const ForwardBuffers buffers(call, loops, scratch);
  common.packed = buffers.packed;
  pack_forward(loops, call.input(1), buffers.packed);
  const float* wide_bias = bias ? WideInput(*bias).read(0, 3 * common.units, buffers.bias) : nullptr;
  parallel_for(x[0], kRowsOfPiece, [&](int64_t begin, int64_t end) {
    RecurrentLoops::Common piece = common;
    piece.rows = end - begin;
    run_forward(call, loops, piece, begin, buffers, wide_bias);
  });
}

struct BackwardBuffers {
  float *packed, *gates, *h_before, *dx, *drecurrent, *dh;

  BackwardBuffers(const KernelCall& call, const RecurrentLoops& loops, Scratch& scratch) {
    const int64_t states = call.output(2).num_elements();
    packed = scratch.take(loops.packed_backward(call.output(2).shape()[1], 3));
    gates = wide_buffer(call.output(0), 4 * states, scratch);
    h_before = wide_buffer(call.output(0), states, scratch);
    dx = wide_buffer(call.output(0), 3 * states, scratch);
    drecurrent = wide_buffer(call.output(1), 3 * states, scratch);
    dh = wide_buffer(call.output(2), states, scratch);
  }
};

template <RecurrentLoopsOf kLoops>
size_t backward_workspace(const KernelCall& call) {
  Scratch scratch;
  const BackwardBuffers counted(call, kLoops(), scratch);
  return workspace_for(scratch.taken());
}

void run_backward(const KernelCall& call, const RecurrentLoops& loops, RecurrentLoops::Common common,
                  int64_t first, const BackwardBuffers& buffers) {
  const auto& d = call.descriptor<ops::GruBackwardDescriptor>().forward;
  const ops::GruBackwardInputs in = ops::detail::gru_backward_inputs(call);
  const auto sizes = ops::detail::gru_sizes(in.gates->shape(), d.go_backwards);
  const SequenceRows rows({first, common.rows, sizes, &d, in.mask});
  const WideInput gates(*in.gates), h_before(*in.h_before);
  const WideOutput dx(call.output(0)), drecurrent(call.output(1)), dh_first(call.output(2));
  const int64_t u = sizes.units;
  float* dh = dh_first.place(first * u, row_of(buffers.dh, first, u));
  rows.begin(in.h, dh);
  for (int64_t step = sizes.time - 1; step >= 0; --step) {
    if (in.output && rows.is_output(step)) rows.add_output(*in.output, dh, step);
    common.counts = rows.counts(step);
    const RowsAt at = rows.step(step, 3 * u);
    const FloatRows<const float> kept = gates.read_rows(rows.step(step, 4 * u),
                                                        row_of(buffers.gates, first, 4 * u)),
                                 h = h_before.read_rows(rows.step(step, u),
                                                        row_of(buffers.h_before, first, u));
    const FloatRows<float> result = dx.place_rows(at, row_of(buffers.dx, first, 3 * u)),
                           of_product = drecurrent.place_rows(at, row_of(buffers.drecurrent, first, 3 * u));
    loops.gru_backward({.common = common,
                        .gates = kept.data,
                        .h_before = h.data,
                        .gates_stride = kept.stride,
                        .h_stride = h.stride,
                        .dx = result.data,
                        .drecurrent = of_product.data,
                        .stride = result.stride,
                        .dh = dh});
    dx.write_rows(at, result.data);
    drecurrent.write_rows(at, of_product.data);
  }
  dh_first.write(first * u, common.rows * u, dh);
}

template <RecurrentLoopsOf kLoops>
void backward(const KernelCall& call) {
  const RecurrentLoops& loops = kLoops();
  const ops::GruBackwardInputs in = ops::detail::gru_backward_inputs(call);
  auto common = common_of(call.descriptor<ops::GruBackwardDescriptor>().forward, call.output(2).shape()[1],
                          in.gates->shape()[1]);
  Scratch scratch(aligned_floats(call.workspace));
  const BackwardBuffers buffers(call, loops, scratch);
  common.packed = buffers.packed;
  pack_backward(loops, *in.recurrent_kernel, buffers.packed);
  parallel_for(call.output(2).shape()[0], kRowsOfPiece, [&](int64_t begin, int64_t end) {
    RecurrentLoops::Common piece = common;
    piece.rows = end - begin;
    run_backward(call, loops, piece, begin, buffers);
  });
}

template <RecurrentLoopsOf kLoops>
void add(KernelTable& table, std::string_view name) {
  table.add(ops::kGru, DeviceKind::cpu,
            {name, unsupported_reason_of_recurrent, forward_workspace<kLoops>, forward<kLoops>, true});
  table.add(ops::kGruBackward, DeviceKind::cpu,
            {name, unsupported_reason_of_recurrent, backward_workspace<kLoops>, backward<kLoops>, true});
}

}  // namespace

void register_gru(KernelTable& table) {
  if (cpu_level() >= CpuLevel::avx512) add<recurrent_loops_avx512>(table, "avx512");
  if (cpu_level() >= CpuLevel::avx2) add<recurrent_loops_avx2>(table, "avx2");
}

}  // namespace nyala
