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

const char* unsupported_reason(const KernelCall& call) {
  return call.output(0).dtype() == DType::float32 ? nullptr : "float32 only";
}

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

template <RecurrentLoopsOf kLoops>
size_t forward_workspace(const KernelCall& call) {
  return workspace_for(kLoops().packed_forward(call.input(1).shape()[0], 4) + call.output(1).num_elements());
}

/// Rows [first, first + rows) of a call; `spare` holds states of the whole batch.
void run_forward(const KernelCall& call, const RecurrentLoops& loops, RecurrentLoops::Common common,
                 int64_t first, float* spare) {
  const auto& d = call.descriptor<ops::LstmDescriptor>();
  const auto sizes = ops::detail::lstm_sizes(call.input(0).shape(), d.go_backwards);
  const SequenceRows rows({first, common.rows, sizes, &d, d.has_mask ? &call.input(4) : nullptr});
  const int64_t u = sizes.units, floats = common.rows * u;
  float *h = call.out<float>(1) + first * u, *other = spare + first * u, *c = call.out<float>(2) + first * u;
  float* const result = h;
  std::copy_n(call.in<float>(2) + first * u, floats, h);
  std::copy_n(call.in<float>(3) + first * u, floats, c);
  for (int64_t step = 0; step < sizes.time; ++step) {
    if (d.keeps) {
      rows.spread(h, call.out<float>(4), step);
      rows.spread(c, call.out<float>(5), step);
    }
    common.counts = rows.counts(step);
    const int64_t place = rows.at(step) * 4 * u;
    loops.lstm_forward({.common = common,
                        .z = call.in<float>(0) + place,
                        .stride = sizes.time * 4 * u,
                        .h = h,
                        .h_next = other,
                        .c = c,
                        .gates = d.keeps ? call.out<float>(3) + place : nullptr});
    std::swap(h, other);
    if (rows.is_output(step)) rows.show(h, call.out<float>(0), step);
  }
  if (h != result) std::copy_n(h, floats, result);
}

template <RecurrentLoopsOf kLoops>
void forward(const KernelCall& call) {
  const RecurrentLoops& loops = kLoops();
  const Shape& z = call.input(0).shape();
  RecurrentLoops::Common common = common_of(call.descriptor<ops::LstmDescriptor>());
  common.units = call.input(1).shape()[0];
  common.counts_stride = z[1];
  float* packed = aligned_floats(call.workspace);
  common.packed = packed;
  pack_forward(loops, call.input(1), packed);
  parallel_for(z[0], kRowsOfPiece, [&](int64_t begin, int64_t end) {
    RecurrentLoops::Common piece = common;
    piece.rows = end - begin;
    run_forward(call, loops, piece, begin, packed + loops.packed_forward(common.units, 4));
  });
}

// ---- backward

template <RecurrentLoopsOf kLoops>
size_t backward_workspace(const KernelCall& call) {
  return workspace_for(kLoops().packed_backward(call.output(1).shape()[1], 4));
}

void run_backward(const KernelCall& call, const RecurrentLoops& loops, RecurrentLoops::Common common,
                  int64_t first) {
  const auto& d = call.descriptor<ops::LstmBackwardDescriptor>().forward;
  const ops::LstmBackwardInputs in = ops::detail::lstm_backward_inputs(call);
  const auto sizes = ops::detail::lstm_sizes(in.gates->shape(), d.go_backwards);
  const SequenceRows rows({first, common.rows, sizes, &d, in.mask});
  const int64_t u = sizes.units;
  float *dh = call.out<float>(1) + first * u, *dc = call.out<float>(2) + first * u;
  rows.begin(in.h, dh);
  rows.begin(in.c, dc);
  for (int64_t step = sizes.time - 1; step >= 0; --step) {
    if (in.output && rows.is_output(step)) rows.add_output(in.output->raw_as<float>(), dh, step);
    common.counts = rows.counts(step);
    const int64_t place = rows.at(step) * u;
    loops.lstm_backward({.common = common,
                         .gates = in.gates->raw_as<float>() + 4 * place,
                         .c_before = in.c_before->raw_as<float>() + place,
                         .stride = sizes.time * 4 * u,
                         .c_stride = sizes.time * u,
                         .dz = call.out<float>(0) + 4 * place,
                         .dh = dh,
                         .dc = dc});
  }
}

template <RecurrentLoopsOf kLoops>
void backward(const KernelCall& call) {
  const RecurrentLoops& loops = kLoops();
  const auto& d = call.descriptor<ops::LstmBackwardDescriptor>().forward;
  const ops::LstmBackwardInputs in = ops::detail::lstm_backward_inputs(call);
  RecurrentLoops::Common common = common_of(d);
  common.units = call.output(1).shape()[1];
  common.counts_stride = in.gates->shape()[1];
  float* packed = aligned_floats(call.workspace);
  common.packed = packed;
  pack_backward(loops, *in.recurrent_kernel, packed);
  parallel_for(call.output(1).shape()[0], kRowsOfPiece, [&](int64_t begin, int64_t end) {
    RecurrentLoops::Common piece = common;
    piece.rows = end - begin;
    run_backward(call, loops, piece, begin);
  });
}

template <RecurrentLoopsOf kLoops>
void add(KernelTable& table, std::string_view name) {
  table.add(ops::kLstm, DeviceKind::cpu,
            {name, unsupported_reason, forward_workspace<kLoops>, forward<kLoops>});
  table.add(ops::kLstmBackward, DeviceKind::cpu,
            {name, unsupported_reason, backward_workspace<kLoops>, backward<kLoops>});
}

}  // namespace

void register_lstm(KernelTable& table) {
  if (cpu_level() >= CpuLevel::avx512) add<recurrent_loops_avx512>(table, "avx512");
  if (cpu_level() >= CpuLevel::avx2) add<recurrent_loops_avx2>(table, "avx2");
}

}  // namespace nyala
