// Hochreiter and Schmidhuber 1997, gates in Keras' order i, f, g, o. x . kernel + bias of all steps is one
// product made before (Appleyard et al., Optimizing Performance of Recurrent Neural Networks on GPUs, 2016);
// a step is only h . recurrent_kernel, packed once per call into the order in which it is read. A block of
// registers is some rows by the four gates of the same units, so that gates and states follow from sums that
// were never stored. The gradient gives dz of all steps; that of the kernel is one product of it afterwards.
// Rows run through all steps by themselves (recurrent_kernels.h).
#include <algorithm>

#include <nyala/backend/kernels/cpu/base/cpu_level.h>
#include <nyala/backend/kernels/cpu/recurrent/lstm.h>
#include <nyala/backend/kernels/cpu/recurrent/recurrent_kernels.h>
#include <nyala/backend/ops/base/kernel_table.h>
#include <nyala/backend/ops/nn/lstm.h>
#include <nyala/backend/runtime/parallel.h>

namespace nyala {

namespace {

RecurrentLoops::Common common_of(const ops::RecurrentOptions& options) {
  return {.rows = 0,
          .units = 0,
          .packed = nullptr,
          .counts = nullptr,
          .counts_stride = 0,
          .activation = activation_of(options.activation),
          .recurrent = activation_of(options.recurrent_activation)};
}

// ---- forward

/// The packed kernel; for all rows states, and what is a step of a 16-bit tensor as float32.
struct ForwardBuffers {
  float *packed, *other, *h, *c, *z, *gates;

  ForwardBuffers(const KernelCall& call, const RecurrentLoops& loops, Scratch& scratch) {
    const int64_t states = call.output(1).num_elements();
    packed = scratch.take(loops.packed_forward(call.input(1).shape()[0], 4));
    other = scratch.take(states);
    h = wide_buffer(call.output(1), states, scratch);
    c = wide_buffer(call.output(2), states, scratch);
    z = wide_buffer(call.input(0), 4 * states, scratch);
    gates = wide_buffer(call.output(3), 4 * states, scratch);
  }
};

template <RecurrentLoopsOf kLoops>
size_t forward_workspace(const KernelCall& call) {
  Scratch scratch;
  const ForwardBuffers counted(call, kLoops(), scratch);
  return workspace_for(scratch.taken());
}

/// Rows [first, first + rows) of a call.
void run_forward(const KernelCall& call, const RecurrentLoops& loops, RecurrentLoops::Common common,
                 int64_t first, const ForwardBuffers& buffers) {
  const auto& d = call.descriptor<ops::LstmDescriptor>();
  const auto sizes = ops::detail::lstm_sizes(call.input(0).shape(), d.go_backwards);
  const SequenceRows rows({first, common.rows, sizes, &d, d.has_mask ? &call.input(4) : nullptr});
  const WideInput z(call.input(0));
  const WideOutput last_h(call.output(1)), last_c(call.output(2)), gates(call.output(3));
  const int64_t u = sizes.units, floats = common.rows * u;
  float *h = last_h.place(first * u, row_of(buffers.h, first, u)), *other = row_of(buffers.other, first, u),
        *c = last_c.place(first * u, row_of(buffers.c, first, u));
  float* const result = h;
  WideInput(call.input(2)).load(first * u, floats, h);
  WideInput(call.input(3)).load(first * u, floats, c);
  for (int64_t step = 0; step < sizes.time; ++step) {
    if (d.keeps) {
      rows.spread(h, call.output(4), step);
      rows.spread(c, call.output(5), step);
    }
    common.counts = rows.counts(step);
    const RowsAt at = rows.step(step, 4 * u);
    const FloatRows<const float> in = z.read_rows(at, row_of(buffers.z, first, 4 * u));
    float* kept = d.keeps ? gates.place_rows(at, row_of(buffers.gates, first, 4 * u)).data : nullptr;
    loops.lstm_forward({.common = common,
                        .z = in.data,
                        .stride = in.stride,
                        .h = h,
                        .h_next = other,
                        .c = c,
                        .gates = kept});
    if (d.keeps) gates.write_rows(at, kept);
    std::swap(h, other);
    if (rows.is_output(step)) rows.show(h, call.output(0), step);
  }
  if (h != result) std::copy_n(h, floats, result);
  last_h.write(first * u, floats, result);
  last_c.write(first * u, floats, c);
}

template <RecurrentLoopsOf kLoops>
void forward(const KernelCall& call) {
  const RecurrentLoops& loops = kLoops();
  const Shape& z = call.input(0).shape();
  RecurrentLoops::Common common = common_of(call.descriptor<ops::LstmDescriptor>());
  common.units = call.input(1).shape()[0];
  common.counts_stride = z[1];
  Scratch scratch(aligned_floats(call.workspace));
  const ForwardBuffers buffers(call, loops, scratch);
  common.packed = buffers.packed;
  pack_forward(loops, call.input(1), buffers.packed);
  parallel_for(z[0], kRowsOfPiece, [&](int64_t begin, int64_t end) {
    RecurrentLoops::Common piece = common;
    piece.rows = end - begin;
    run_forward(call, loops, piece, begin, buffers);
  });
}

// ---- backward

struct BackwardBuffers {
  float *packed, *gates, *c_before, *dz, *dh, *dc;

  BackwardBuffers(const KernelCall& call, const RecurrentLoops& loops, Scratch& scratch) {
    const int64_t states = call.output(1).num_elements();
    packed = scratch.take(loops.packed_backward(call.output(1).shape()[1], 4));
    gates = wide_buffer(call.output(0), 4 * states, scratch);
    c_before = wide_buffer(call.output(0), states, scratch);
    dz = wide_buffer(call.output(0), 4 * states, scratch);
    dh = wide_buffer(call.output(1), states, scratch);
    dc = wide_buffer(call.output(2), states, scratch);
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
  const auto& d = call.descriptor<ops::LstmBackwardDescriptor>().forward;
  const ops::LstmBackwardInputs in = ops::detail::lstm_backward_inputs(call);
  const auto sizes = ops::detail::lstm_sizes(in.gates->shape(), d.go_backwards);
  const SequenceRows rows({first, common.rows, sizes, &d, in.mask});
  const WideInput gates(*in.gates), c_before(*in.c_before);
  const WideOutput dz(call.output(0)), dh_first(call.output(1)), dc_first(call.output(2));
  const int64_t u = sizes.units;
  float *dh = dh_first.place(first * u, row_of(buffers.dh, first, u)),
        *dc = dc_first.place(first * u, row_of(buffers.dc, first, u));
  rows.begin(in.h, dh);
  rows.begin(in.c, dc);
  for (int64_t step = sizes.time - 1; step >= 0; --step) {
    if (in.output && rows.is_output(step)) rows.add_output(*in.output, dh, step);
    common.counts = rows.counts(step);
    const RowsAt at = rows.step(step, 4 * u);
    const FloatRows<const float> kept = gates.read_rows(at, row_of(buffers.gates, first, 4 * u)),
                                 c = c_before.read_rows(rows.step(step, u),
                                                        row_of(buffers.c_before, first, u));
    float* const result = dz.place_rows(at, row_of(buffers.dz, first, 4 * u)).data;
    loops.lstm_backward({.common = common,
                         .gates = kept.data,
                         .c_before = c.data,
                         .stride = kept.stride,
                         .c_stride = c.stride,
                         .dz = result,
                         .dh = dh,
                         .dc = dc});
    dz.write_rows(at, result);
  }
  dh_first.write(first * u, common.rows * u, dh);
  dc_first.write(first * u, common.rows * u, dc);
}

template <RecurrentLoopsOf kLoops>
void backward(const KernelCall& call) {
  const RecurrentLoops& loops = kLoops();
  const auto& d = call.descriptor<ops::LstmBackwardDescriptor>().forward;
  const ops::LstmBackwardInputs in = ops::detail::lstm_backward_inputs(call);
  RecurrentLoops::Common common = common_of(d);
  common.units = call.output(1).shape()[1];
  common.counts_stride = in.gates->shape()[1];
  Scratch scratch(aligned_floats(call.workspace));
  const BackwardBuffers buffers(call, loops, scratch);
  common.packed = buffers.packed;
  pack_backward(loops, *in.recurrent_kernel, buffers.packed);
  parallel_for(call.output(1).shape()[0], kRowsOfPiece, [&](int64_t begin, int64_t end) {
    RecurrentLoops::Common piece = common;
    piece.rows = end - begin;
    run_backward(call, loops, piece, begin, buffers);
  });
}

template <RecurrentLoopsOf kLoops>
void add(KernelTable& table, std::string_view name) {
  table.add(ops::kLstm, DeviceKind::cpu,
            {name, unsupported_reason_of_recurrent, forward_workspace<kLoops>, forward<kLoops>, true});
  table.add(ops::kLstmBackward, DeviceKind::cpu,
            {name, unsupported_reason_of_recurrent, backward_workspace<kLoops>, backward<kLoops>, true});
}

}  // namespace

void register_lstm(KernelTable& table) {
  if (cpu_level() >= CpuLevel::avx512) add<recurrent_loops_avx512>(table, "avx512");
  if (cpu_level() >= CpuLevel::avx2) add<recurrent_loops_avx2>(table, "avx2");
}

}  // namespace nyala
