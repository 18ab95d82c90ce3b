// The slope of these activations can be taken from the result, so the input is not kept for the backward
// pass. One op returns the gradient before the activation and the bias' sums, instead of two passes over the
// same memory. When the gradient itself is recorded, differentiable ops are used instead.
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/base/dispatch.h>
#include <nyala/backend/ops/base/grad_context.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/fused_activation.h>

namespace nyala::ops {

using namespace nyala::detail;

template <class T>
T detail::activate(T z, Activation activation) {
  switch (activation) {
    case Activation::relu:
      return z > T(0) || std::isnan(z) ? z : T(0);
    case Activation::sigmoid:
      return T(1) / (T(1) + std::exp(-z));
    case Activation::tanh:
      return std::tanh(z);
    case Activation::relu6:
      return std::isnan(z) ? z : std::clamp(z, T(0), T(6));
    case Activation::linear:
      break;
  }
  return z;
}

template float detail::activate(float, Activation);
template double detail::activate(double, Activation);

namespace {

template <class T>
T derivative_from_output(T y, Activation activation) {
  switch (activation) {
    case Activation::relu:
      return y > T(0) ? T(1) : T(0);
    case Activation::sigmoid:
      return y * (T(1) - y);
    case Activation::tanh:
      return T(1) - y * y;
    case Activation::relu6:
      return y > T(0) && y < T(6) ? T(1) : T(0);
    case Activation::linear:
      break;
  }
  return T(1);
}

void infer_backward(InferContext& c) {
  if (c.shape(0) != c.shape(1) || c.dtype(0) != c.dtype(1))
    c.fail("expected a gradient like the output " + c.shape(1).to_string() + ", received " +
           c.shape(0).to_string());
  c.output(0, c.shape(0), c.dtype(0));
}

void backward_reference(const KernelCall& call) {
  const Activation activation = call.descriptor<ActivationDescriptor>().activation;
  dispatch_real(call.output(0).dtype(), call.op->name, [&]<class T>(T) {
    const int64_t count = call.output(0).num_elements();
    for (int64_t i = 0; i < count; ++i)
      call.out<T>(0)[i] = call.in<T>(0)[i] * derivative_from_output(call.in<T>(1)[i], activation);
  });
}

void infer_bias(InferContext& c) {
  if (c.shape(0).rank() < 1) c.fail("expected at least one axis, received a scalar");
  c.output(0, {c.shape(0).back()}, dtype_of_sums(c.dtype(0)));
}

template <class T>
void sum_rows(const T* values, const Tensor& shape_of, T* sums, int64_t columns) {
  std::vector<double> totals(static_cast<size_t>(columns));
  const int64_t rows = columns == 0 ? 0 : shape_of.num_elements() / columns;
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column)
      totals[static_cast<size_t>(column)] += static_cast<double>(values[row * columns + column]);
  for (int64_t column = 0; column < columns; ++column)
    sums[column] = static_cast<T>(totals[static_cast<size_t>(column)]);
}

void bias_reference(const KernelCall& call) {
  dispatch_real(call.output(0).dtype(), call.op->name, [&]<class T>(T) {
    sum_rows(call.in<T>(0), call.input(0), call.out<T>(0), call.output(0).num_elements());
  });
}

void infer_backward_with_bias(InferContext& c) {
  infer_backward(c);
  c.output(1, {c.shape(0).back()}, dtype_of_sums(c.dtype(0)));
}

void backward_with_bias_reference(const KernelCall& call) {
  backward_reference(call);
  dispatch_real(call.output(0).dtype(), call.op->name, [&]<class T>(T) {
    sum_rows<T>(call.out<T>(0), call.output(0), call.out<T>(1), call.output(1).num_elements());
  });
}

}  // namespace

const OpDef kActivationBackward = {
    .name = "activation_backward", .infer = infer_backward, .reference = backward_reference};
const OpDef kActivationBackwardWithBias = {.name = "activation_backward_with_bias",
                                           .num_outputs = 2,
                                           .infer = infer_backward_with_bias,
                                           .reference = backward_with_bias_reference};
const OpDef kBiasGradient = {.name = "bias_gradient", .infer = infer_bias, .reference = bias_reference};

Tensor activation_backward(const Tensor& gradient, const Tensor& y, Activation activation) {
  if (activation == Activation::linear) return gradient;
  return dispatch(kActivationBackward, ActivationDescriptor{activation}, {&gradient, &y});
}

namespace {

/// gradient * f'(y) in ops that have gradients.
Tensor recorded_activation_backward(const Tensor& gradient, const Tensor& y, Activation activation) {
  switch (activation) {
    case Activation::relu:
    case Activation::relu6: {  // constant piece by piece
      const Tensor fixed = y.detached();
      return gradient * activation_backward(ones_like(fixed), fixed, activation);
    }
    case Activation::sigmoid:
      return gradient * (y * (1.0 - y));
    case Activation::tanh:
      return gradient * (1.0 - y * y);
    case Activation::linear:
      break;
  }
  return gradient;
}

Tensor record_behind_activation_and_bias(GradContext& c, Activation activation, size_t bias) {
  const Tensor dz = recorded_activation_backward(c.grad(), c.output(), activation);
  if (c.num_inputs() > bias && c.needs(bias))
    c.set(bias, sum_to_shape(cast(dz, dtype_of_sums(dz.dtype())), c.input(bias).shape()));
  return dz;
}

}  // namespace

Tensor detail::behind_activation_and_bias(GradContext& c, Activation activation, size_t bias) {
  if (c.records()) return record_behind_activation_and_bias(c, activation, bias);
  if (c.num_inputs() <= bias || !c.needs(bias)) return activation_backward(c.grad(), c.output(), activation);
  if (activation == Activation::linear) {
    c.emit(bias, kBiasGradient, NoDescriptor{}, {&c.grad()});
    return c.grad();
  }
  const std::array<const Tensor*, 2> inputs{&c.grad(), &c.output()};
  std::array<Tensor, 2> gradients;
  dispatch(kActivationBackwardWithBias, ActivationDescriptor{activation}, inputs, gradients);
  c.set(bias, gradients[1]);
  return gradients[0];
}

}  // namespace nyala::ops
