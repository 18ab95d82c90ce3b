#include <algorithm>
#include <cmath>

#include <nyala/backend/ops/dispatch.h>
#include <nyala/backend/ops/fused_activation.h>

namespace nyala::ops {

template <class T>
T activate(T z, Activation activation) {
  switch (activation) {
    case Activation::relu:
      return z > T(0) || std::isnan(z) ? z : T(0);
    case Activation::sigmoid:
      return T(1) / (T(1) + std::exp(-z));
    case Activation::tanh:
      return std::tanh(z);
    case Activation::linear:
      break;
  }
  return z;
}

template float activate(float, Activation);
template double activate(double, Activation);

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
  c.output(0, {c.shape(0).back()}, c.dtype(0));
}

void bias_reference(const KernelCall& call) {
  dispatch_real(call.output(0).dtype(), call.op->name, [&]<class T>(T) {
    const int64_t columns = call.output(0).num_elements();
    const int64_t rows = columns == 0 ? 0 : call.input(0).num_elements() / columns;
    for (int64_t column = 0; column < columns; ++column) {
      double sum = 0.0;
      for (int64_t row = 0; row < rows; ++row) sum += call.in<T>(0)[row * columns + column];
      call.out<T>(0)[column] = static_cast<T>(sum);
    }
  });
}

}  // namespace

const OpDef kActivationBackward = {
    .name = "activation_backward", .infer = infer_backward, .reference = backward_reference};
const OpDef kBiasGradient = {.name = "bias_gradient", .infer = infer_bias, .reference = bias_reference};

Tensor activation_backward(const Tensor& gradient, const Tensor& y, Activation activation) {
  if (activation == Activation::linear) return gradient;
  return dispatch(kActivationBackward, ActivationDescriptor{activation}, {&gradient, &y});
}

}  // namespace nyala::ops
