// A step of one row after the other, by Keras' formulas: z = f(x_z + q_z), r = f(x_r + q_r), n = g(x_n + r
// q_n), h = z h + (1 - z) n, where q = h . recurrent_kernel + bias. Backward walks the steps from the last
// one with what forward kept; the gradients of recurrent kernel and bias are one product and one sum over all
// steps, by ops that exist.
#include <algorithm>
#include <array>
#include <vector>

#include <nyala/backend/ops/base/dispatch.h>
#include <nyala/backend/ops/base/grad_context.h>
#include <nyala/backend/ops/nn/dense.h>
#include <nyala/backend/ops/nn/gru.h>

namespace nyala::ops {

using namespace nyala::detail;
using namespace nyala::ops::detail;

RecurrentSizes detail::gru_sizes(const Shape& gates, bool go_backwards) {
  return {gates[0], gates[1], gates[2] / 4, go_backwards};
}

GruForwardInputs detail::gru_forward_inputs(const KernelCall& call) {
  const auto& d = call.descriptor<GruDescriptor>();
  GruForwardInputs in;
  size_t i = 3;
  if (d.has_bias) in.bias = call.inputs[i++];
  if (d.has_mask) in.mask = call.inputs[i];
  return in;
}

GruBackwardInputs detail::gru_backward_inputs(const KernelCall& call) {
  const auto& d = call.descriptor<GruBackwardDescriptor>();
  GruBackwardInputs in;
  size_t i = 0;
  if (d.has_output) in.output = call.inputs[i++];
  if (d.has_h) in.h = call.inputs[i++];
  in.gates = call.inputs[i++];
  in.h_before = call.inputs[i++];
  in.recurrent_kernel = call.inputs[i++];
  if (d.forward.has_mask) in.mask = call.inputs[i];
  return in;
}

namespace {

void infer_gru(InferContext& c) {
  const auto& d = c.descriptor<GruDescriptor>();
  const Shape &x = c.shape(0), &kernel = c.shape(1), &h = c.shape(2);
  if (kernel.rank() != 2 || kernel[1] != 3 * kernel[0])
    c.fail("expected a recurrent kernel (units, 3 units), received " + kernel.to_string());
  const int64_t units = kernel[0];
  if (x.rank() != 3 || x[2] != 3 * units)
    c.fail("expected x (batch, time, " + std::to_string(3 * units) + "), received " + x.to_string());
  const Shape state{x[0], units};
  if (h.rank() != 2 || !matches(h, state))
    c.fail("expected a state " + state.to_string() + ", received " + h.to_string());
  if (d.has_bias && c.shape(3) != Shape{3 * units})
    c.fail("expected a bias (" + std::to_string(3 * units) + ",), received " + c.shape(3).to_string());
  check_one_floating_dtype(c, d.has_bias ? 4 : 3);
  if (d.has_mask) check_mask(c, d.has_bias ? 4 : 3, x);
  c.output(0, d.return_sequences ? x.with(2, units) : state, c.dtype(0));
  c.output(1, state, c.dtype(0));
  c.output(2, d.keeps ? x.with(2, 4 * units) : Shape{0}, c.dtype(0));
  c.output(3, d.keeps ? x.with(2, units) : Shape{0}, c.dtype(0));
}

/// h . recurrent_kernel + bias of one row.
template <class T>
void recurrent_product(const KernelCall& call, const T* h, T* product) {
  const int64_t units = call.input(1).shape()[0];
  const Tensor* bias = gru_forward_inputs(call).bias;
  for (int64_t j = 0; j < 3 * units; ++j) product[j] = bias ? bias->raw_as<T>()[j] : T(0);
  for (int64_t k = 0; k < units; ++k)
    for (int64_t j = 0; j < 3 * units; ++j) product[j] += h[k] * call.in<T>(1)[k * 3 * units + j];
}

template <class T>
void gru_row(const KernelCall& call, int64_t row) {
  const auto& d = call.descriptor<GruDescriptor>();
  const int64_t u = call.input(1).shape()[0], time = call.input(0).shape()[1];
  const RecurrentSizes s{0, time, u, d.go_backwards};
  const Tensor* flags = gru_forward_inputs(call).mask;
  const RowMask mask(flags ? flags->raw_as<bool>() + row * time : nullptr, s, d.zero_output_for_mask);
  std::vector<T> product(static_cast<size_t>(3 * u)), gates(static_cast<size_t>(4 * u));
  T *h = call.out<T>(1) + row * u, *q = product.data(), *z = gates.data(), *r = z + u, *n = r + u;
  std::copy_n(call.in<T>(2) + row * u, u, h);
  if (!d.return_sequences) std::fill_n(call.out<T>(0) + row * u, u, T(0));
  for (int64_t step = 0; step < time; ++step) {
    const int64_t place = row * time + s.time_of(step);
    const T* x = call.in<T>(0) + place * 3 * u;
    recurrent_product(call, h, q);
    for (int64_t j = 0; j < u; ++j) {
      z[j] = recurrent_activate(x[j] + q[j], d.recurrent_activation);
      r[j] = recurrent_activate(x[u + j] + q[u + j], d.recurrent_activation);
      n[j] = recurrent_activate(x[2 * u + j] + r[j] * q[2 * u + j], d.activation);
      n[u + j] = q[2 * u + j];
    }
    if (d.keeps) {
      std::copy_n(z, 4 * u, call.out<T>(2) + place * 4 * u);
      std::copy_n(h, u, call.out<T>(3) + place * u);
    }
    for (int64_t j = 0; j < u && mask.counts(step); ++j) h[j] = z[j] * h[j] + (T(1) - z[j]) * n[j];
    if (!d.return_sequences && step + 1 < time) continue;
    T* y = call.out<T>(0) + (d.return_sequences ? row * time + step : row) * u;
    for (int64_t j = 0; j < u; ++j) y[j] = mask.shows(step) ? h[j] : T(0);
  }
}

void gru_reference(const KernelCall& call) {
  dispatch_real(call.output(0).dtype(), call.op->name, [&]<class T>(T) {
    const int64_t batch = call.input(0).shape()[0];
    for (int64_t row = 0; row < batch; ++row) gru_row<T>(call, row);
  });
}

void gru_gradient(GradContext& c) {
  const auto& d = c.descriptor<GruDescriptor>();
  const GruBackwardDescriptor backward{d, c.grad(0).defined(), c.grad(1).defined()};
  std::vector<const Tensor*> inputs;
  for (size_t i = 0; i < 2; ++i)
    if (c.grad(i).defined()) inputs.push_back(&c.grad(i));
  for (const Tensor* kept : {&c.output(2), &c.output(3), &c.input(1)}) inputs.push_back(kept);
  if (d.has_mask) inputs.push_back(&c.input(d.has_bias ? 4 : 3));
  std::array<Tensor, 3> gradients;
  dispatch(kGruBackward, backward, inputs, gradients);
  if (c.needs(1)) c.emit(1, kDenseBackwardKernel, NoDescriptor{}, {&c.output(3), &gradients[1]});
  if (d.has_bias && c.needs(3)) c.emit(3, kBiasGradient, NoDescriptor{}, {&gradients[1]});
  c.set(0, gradients[0]);
  c.set(2, gradients[2]);
}

void infer_gru_backward(InferContext& c) {
  const auto& d = c.descriptor<GruBackwardDescriptor>();
  const size_t first = size_t{d.has_output} + d.has_h;
  const Shape& gates = c.shape(first);
  c.output(0, gates.with(2, gates[2] / 4 * 3), c.dtype(first));
  c.output(1, gates.with(2, gates[2] / 4 * 3), c.dtype(first));
  c.output(2, {gates[0], gates[2] / 4}, c.dtype(first));
}

/// What a step of one row backwards reads and writes.
template <class T>
struct StepBack {
  const T *gates, *h_before, *kernel;
  int64_t units;
  T *dx, *drecurrent, *dh;
};

template <class T>
void gru_step_back(const GruDescriptor& d, const StepBack<T>& s) {
  const int64_t u = s.units;
  for (int64_t j = 0; j < u; ++j) {
    const T z = s.gates[j], r = s.gates[u + j], n = s.gates[2 * u + j], q = s.gates[3 * u + j];
    const T dn = s.dh[j] * (T(1) - z) * recurrent_slope(n, d.activation);
    s.dx[j] = s.drecurrent[j] = s.dh[j] * (s.h_before[j] - n) * recurrent_slope(z, d.recurrent_activation);
    s.dx[u + j] = s.drecurrent[u + j] = dn * q * recurrent_slope(r, d.recurrent_activation);
    s.dx[2 * u + j] = dn;
    s.drecurrent[2 * u + j] = dn * r;
    s.dh[j] *= z;
  }
  for (int64_t k = 0; k < u; ++k)
    for (int64_t j = 0; j < 3 * u; ++j) s.dh[k] += s.drecurrent[j] * s.kernel[k * 3 * u + j];
}

template <class T>
void gru_row_back(const KernelCall& call, int64_t row) {
  const auto& d = call.descriptor<GruBackwardDescriptor>();
  const GruBackwardInputs in = gru_backward_inputs(call);
  const RecurrentSizes s = gru_sizes(in.gates->shape(), d.forward.go_backwards);
  const int64_t u = s.units;
  const RowMask mask(in.mask ? in.mask->raw_as<bool>() + row * s.time : nullptr, s,
                     d.forward.zero_output_for_mask);
  T* dh = call.out<T>(2) + row * u;
  std::fill_n(dh, u, T(0));
  if (in.h) std::copy_n(in.h->raw_as<T>() + row * u, u, dh);
  for (int64_t step = s.time - 1; step >= 0; --step) {
    if (in.output && mask.shows(step) && (d.forward.return_sequences || step + 1 == s.time)) {
      const T* dy = in.output->raw_as<T>() + (d.forward.return_sequences ? row * s.time + step : row) * u;
      for (int64_t j = 0; j < u; ++j) dh[j] += dy[j];
    }
    const int64_t place = row * s.time + s.time_of(step);
    const StepBack<T> back{in.gates->raw_as<T>() + place * 4 * u,
                           in.h_before->raw_as<T>() + place * u,
                           in.recurrent_kernel->raw_as<T>(),
                           u,
                           call.out<T>(0) + place * 3 * u,
                           call.out<T>(1) + place * 3 * u,
                           dh};
    if (mask.counts(step)) {
      gru_step_back(d.forward, back);
    } else {
      std::fill_n(back.dx, 3 * u, T(0));
      std::fill_n(back.drecurrent, 3 * u, T(0));
    }
  }
}

void gru_backward_reference(const KernelCall& call) {
  dispatch_real(call.output(0).dtype(), call.op->name, [&]<class T>(T) {
    const int64_t batch = call.output(2).shape()[0];
    for (int64_t row = 0; row < batch; ++row) gru_row_back<T>(call, row);
  });
}

}  // namespace

const OpDef kGru = {.name = "gru",
                    .num_outputs = 4,
                    .infer = infer_gru,
                    .gradient = gru_gradient,
                    .keep_inputs = keep(1, 3, 4),
                    .keep_outputs = keep(2, 3),
                    .reference = gru_reference};
const OpDef kGruBackward = {.name = "gru_backward",
                            .num_outputs = 3,
                            .infer = infer_gru_backward,
                            .reference = gru_backward_reference};

GruResult detail::gru(const GruInputs& in, const RecurrentOptions& options) {
  GruDescriptor d{options, in.bias.defined(), in.mask.defined()};
  std::vector<const Tensor*> inputs{&in.x, &in.recurrent_kernel, &in.h};
  if (d.has_bias) inputs.push_back(&in.bias);
  if (d.has_mask) inputs.push_back(&in.mask);
  d.keeps = recording_tape(inputs) != nullptr;
  std::array<Tensor, 4> outputs;
  dispatch(kGru, d, inputs, outputs);
  return {outputs[0], outputs[1]};
}

}  // namespace nyala::ops
