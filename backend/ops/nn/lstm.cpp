// Keras' LSTM, step by step, as the reference that the CPU's kernel is compared with. The backward pass reads
// the gates and states that the forward pass kept, instead of computing them again. The gradients of each
// step's gates are collected, so the gradient of a kernel is one matrix product over all steps and not one
// per step.
#include <algorithm>
#include <vector>

#include <nyala/backend/ops/base/dispatch.h>
#include <nyala/backend/ops/base/grad_context.h>
#include <nyala/backend/ops/nn/dense.h>
#include <nyala/backend/ops/nn/lstm.h>

namespace nyala::ops {

using namespace nyala::detail;
using namespace nyala::ops::detail;

RecurrentSizes detail::lstm_sizes(const Shape& gates, bool go_backwards) {
  return {gates[0], gates[1], gates[2] / 4, go_backwards};
}

LstmBackwardInputs detail::lstm_backward_inputs(const KernelCall& call) {
  const auto& d = call.descriptor<LstmBackwardDescriptor>();
  LstmBackwardInputs in;
  size_t i = 0;
  if (d.has_output) in.output = call.inputs[i++];
  if (d.has_h) in.h = call.inputs[i++];
  if (d.has_c) in.c = call.inputs[i++];
  in.gates = call.inputs[i++];
  in.c_before = call.inputs[i++];
  in.recurrent_kernel = call.inputs[i++];
  if (d.forward.has_mask) in.mask = call.inputs[i];
  return in;
}

namespace {

void infer_lstm(InferContext& c) {
  const auto& d = c.descriptor<LstmDescriptor>();
  const Shape &z = c.shape(0), &kernel = c.shape(1), &h = c.shape(2), &carry = c.shape(3);
  if (kernel.rank() != 2 || kernel[1] != 4 * kernel[0])
    c.fail("expected a recurrent kernel (units, 4 units), received " + kernel.to_string());
  const int64_t units = kernel[0];
  if (z.rank() != 3 || z[2] != 4 * units)
    c.fail("expected z (batch, time, " + std::to_string(4 * units) + "), received " + z.to_string());
  const Shape state{z[0], units};
  if (h.rank() != 2 || carry.rank() != 2 || !matches(h, state) || !matches(carry, state))
    c.fail("expected states " + state.to_string() + ", received " + h.to_string() + " and " +
           carry.to_string());
  check_one_floating_dtype(c, 4);
  if (d.has_mask) check_mask(c, 4, z);
  c.output(0, d.return_sequences ? z.with(2, units) : state, c.dtype(0));
  c.output(1, state, c.dtype(0));
  c.output(2, state, c.dtype(0));
  c.output(3, d.keeps ? z : Shape{0}, c.dtype(0));
  c.output(4, d.keeps ? z.with(2, units) : Shape{0}, c.dtype(0));
  c.output(5, d.keeps ? z.with(2, units) : Shape{0}, c.dtype(0));
}

/// The gates of one step of one row: z += h . recurrent_kernel, then the activations.
template <class T>
void activated_gates(const KernelCall& call, const T* h, T* z) {
  const auto& d = call.descriptor<LstmDescriptor>();
  const int64_t units = call.input(1).shape()[0];
  const T* kernel = call.in<T>(1);
  for (int64_t k = 0; k < units; ++k)
    for (int64_t j = 0; j < 4 * units; ++j) z[j] += h[k] * kernel[k * 4 * units + j];
  for (int64_t j = 0; j < 4 * units; ++j)
    z[j] = recurrent_activate(z[j], j / units == 2 ? d.activation : d.recurrent_activation);
}

template <class T>
void lstm_row(const KernelCall& call, int64_t row) {
  const auto& d = call.descriptor<LstmDescriptor>();
  const RecurrentSizes s = lstm_sizes(call.input(0).shape(), d.go_backwards);
  const int64_t u = s.units;
  const RowMask mask(d.has_mask ? call.in<bool>(4) + row * s.time : nullptr, s, d.zero_output_for_mask);
  std::vector<T> z(static_cast<size_t>(4 * u));
  T *h = call.out<T>(1) + row * u, *c = call.out<T>(2) + row * u;
  std::copy_n(call.in<T>(2) + row * u, u, h);
  std::copy_n(call.in<T>(3) + row * u, u, c);
  if (!d.return_sequences) std::fill_n(call.out<T>(0) + row * u, u, T(0));
  for (int64_t step = 0; step < s.time; ++step) {
    const int64_t place = row * s.time + s.time_of(step);
    std::copy_n(call.in<T>(0) + place * 4 * u, 4 * u, z.data());
    activated_gates(call, h, z.data());
    if (d.keeps) {
      std::copy_n(z.data(), 4 * u, call.out<T>(3) + place * 4 * u);
      std::copy_n(h, u, call.out<T>(4) + place * u);
      std::copy_n(c, u, call.out<T>(5) + place * u);
    }
    for (int64_t j = 0; j < u && mask.counts(step); ++j) {
      const size_t i = static_cast<size_t>(j), n = static_cast<size_t>(u);
      c[j] = z[n + i] * c[j] + z[i] * z[2 * n + i];
      h[j] = z[3 * n + i] * recurrent_activate(c[j], d.activation);
    }
    if (!d.return_sequences && step + 1 < s.time) continue;
    T* y = call.out<T>(0) + (d.return_sequences ? row * s.time + step : row) * u;
    for (int64_t j = 0; j < u; ++j) y[j] = mask.shows(step) ? h[j] : T(0);
  }
}

void lstm_reference(const KernelCall& call) {
  dispatch_real(call.output(0).dtype(), call.op->name, [&]<class T>(T) {
    const int64_t batch = call.input(0).shape()[0];
    for (int64_t row = 0; row < batch; ++row) lstm_row<T>(call, row);
  });
}

void lstm_gradient(GradContext& c) {
  const auto& d = c.descriptor<LstmDescriptor>();
  LstmBackwardDescriptor backward{d, c.grad(0).defined(), c.grad(1).defined(), c.grad(2).defined()};
  std::vector<const Tensor*> inputs;
  for (size_t i = 0; i < 3; ++i)
    if (c.grad(i).defined()) inputs.push_back(&c.grad(i));
  for (const Tensor* kept : {&c.output(3), &c.output(5), &c.input(1)}) inputs.push_back(kept);
  if (d.has_mask) inputs.push_back(&c.input(4));
  std::array<Tensor, 3> gradients;
  dispatch(kLstmBackward, backward, inputs, gradients);
  if (c.needs(1)) c.emit(1, kDenseBackwardKernel, NoDescriptor{}, {&c.output(4), &gradients[0]});
  c.set(0, gradients[0]);
  c.set(2, gradients[1]);
  c.set(3, gradients[2]);
}

void infer_lstm_backward(InferContext& c) {
  const auto& d = c.descriptor<LstmBackwardDescriptor>();
  const size_t first = size_t{d.has_output} + d.has_h + d.has_c;
  const Shape& gates = c.shape(first);
  c.output(0, gates, c.dtype(first));
  c.output(1, {gates[0], gates[2] / 4}, c.dtype(first));
  c.output(2, {gates[0], gates[2] / 4}, c.dtype(first));
}

/// One step of one row backwards: dz from dh and dc, which become those of the states before.
template <class T>
void lstm_step_back(const LstmDescriptor& d, const T* gates, const T* c_before, const T* kernel, int64_t u,
                    T* dz, T* dh, T* dc) {
  for (int64_t j = 0; j < u; ++j) {
    const T i = gates[j], f = gates[u + j], g = gates[2 * u + j], o = gates[3 * u + j];
    const T a = recurrent_activate(f * c_before[j] + i * g, d.activation);
    const T carry = dc[j] + dh[j] * o * recurrent_slope(a, d.activation);
    dz[j] = carry * g * recurrent_slope(i, d.recurrent_activation);
    dz[u + j] = carry * c_before[j] * recurrent_slope(f, d.recurrent_activation);
    dz[2 * u + j] = carry * i * recurrent_slope(g, d.activation);
    dz[3 * u + j] = dh[j] * a * recurrent_slope(o, d.recurrent_activation);
    dc[j] = carry * f;
  }
  for (int64_t k = 0; k < u; ++k) {
    T sum = 0;
    for (int64_t j = 0; j < 4 * u; ++j) sum += dz[j] * kernel[k * 4 * u + j];
    dh[k] = sum;
  }
}

template <class T>
void lstm_row_back(const KernelCall& call, int64_t row) {
  const auto& d = call.descriptor<LstmBackwardDescriptor>();
  const LstmBackwardInputs in = lstm_backward_inputs(call);
  const RecurrentSizes s = lstm_sizes(in.gates->shape(), d.forward.go_backwards);
  const int64_t u = s.units;
  const RowMask mask(in.mask ? in.mask->raw_as<bool>() + row * s.time : nullptr, s,
                     d.forward.zero_output_for_mask);
  T *dh = call.out<T>(1) + row * u, *dc = call.out<T>(2) + row * u;
  std::fill_n(dh, u, T(0));
  std::fill_n(dc, u, T(0));
  if (in.h) std::copy_n(in.h->raw_as<T>() + row * u, u, dh);
  if (in.c) std::copy_n(in.c->raw_as<T>() + row * u, u, dc);
  for (int64_t step = s.time - 1; step >= 0; --step) {
    if (in.output && mask.shows(step) && (d.forward.return_sequences || step + 1 == s.time)) {
      const T* dy = in.output->raw_as<T>() + (d.forward.return_sequences ? row * s.time + step : row) * u;
      for (int64_t j = 0; j < u; ++j) dh[j] += dy[j];
    }
    const int64_t place = row * s.time + s.time_of(step);
    T* dz = call.out<T>(0) + place * 4 * u;
    if (mask.counts(step))
      lstm_step_back(d.forward, in.gates->raw_as<T>() + place * 4 * u, in.c_before->raw_as<T>() + place * u,
                     in.recurrent_kernel->raw_as<T>(), u, dz, dh, dc);
    else
      std::fill_n(dz, 4 * u, T(0));
  }
}

void lstm_backward_reference(const KernelCall& call) {
  dispatch_real(call.output(0).dtype(), call.op->name, [&]<class T>(T) {
    const int64_t batch = call.output(1).shape()[0];
    for (int64_t row = 0; row < batch; ++row) lstm_row_back<T>(call, row);
  });
}

}  // namespace

const OpDef kLstm = {.name = "lstm",
                     .num_outputs = 6,
                     .infer = infer_lstm,
                     .gradient = lstm_gradient,
                     .keep_inputs = keep(1, 4),
                     .keep_outputs = keep(3, 4, 5),
                     .reference = lstm_reference};
const OpDef kLstmBackward = {.name = "lstm_backward",
                             .num_outputs = 3,
                             .infer = infer_lstm_backward,
                             .reference = lstm_backward_reference};

LstmResult detail::lstm(const LstmInputs& in, const RecurrentOptions& options) {
  LstmDescriptor d{options, in.mask.defined()};
  const std::array<const Tensor*, 5> all{&in.z, &in.recurrent_kernel, &in.h, &in.c, &in.mask};
  const TensorPointers inputs(all.data(), d.has_mask ? 5 : 4);
  d.keeps = recording_tape(inputs) != nullptr;
  std::array<Tensor, 6> outputs;
  dispatch(kLstm, d, inputs, outputs);
  return {outputs[0], outputs[1], outputs[2]};
}

}  // namespace nyala::ops
