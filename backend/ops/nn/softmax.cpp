// exp(x - largest) / sum. The gradient needs y alone: y (g - sum(g y)), for the logarithm g - exp(y) sum(g).
// Several axes go by logsumexp.
#include <algorithm>
#include <cmath>

#include <nyala/backend/ops/base/dispatch.h>
#include <nyala/backend/ops/base/grad_context.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/exponential.h>
#include <nyala/backend/ops/nn/softmax.h>
#include <nyala/backend/ops/reduction/reduction.h>
#include <nyala/backend/ops/reduction/statistics.h>

namespace nyala::ops {

using namespace nyala::detail;

namespace {

void infer_softmax(InferContext& c) {
  const Shape& x = c.shape(0);
  if (x.rank() + c.descriptor<SoftmaxDescriptor>().axis < 0)
    c.fail("expected an axis of x " + x.to_string() + ", received axis " +
           std::to_string(c.descriptor<SoftmaxDescriptor>().axis));
  if (!is_floating(c.dtype(0)))
    c.fail("expected a floating dtype, received " + std::string(name_of(c.dtype(0))));
  c.output(0, x, c.dtype(0));
}

void infer_softmax_backward(InferContext& c) { c.output(0, c.shape(1), c.dtype(1)); }

/// One line along the axis: `size` values, `stride` apart, the first at `start`.
struct Line {
  int64_t start, stride, size;
};

template <class Body>
void for_each_line(const Shape& shape, int axis, Body&& body) {
  const int64_t size = shape[axis];
  if (shape.num_elements() == 0) return;
  int64_t stride = 1;
  for (int i = shape.normalize_axis(axis) + 1; i < shape.rank(); ++i) stride *= shape[i];
  const int64_t outer = shape.num_elements() / (size * stride);
  for (int64_t i = 0; i < outer; ++i)
    for (int64_t j = 0; j < stride; ++j) body(Line{i * size * stride + j, stride, size});
}

template <bool logarithm>
void softmax_reference(const KernelCall& call) {
  dispatch_real(call.output(0).dtype(), call.op->name, [&]<class T>(T) {
    for_each_line(call.input(0).shape(), call.descriptor<SoftmaxDescriptor>().axis, [&](const Line& line) {
      const T* x = call.in<T>(0) + line.start;
      T* y = call.out<T>(0) + line.start;
      T largest = x[0];
      for (int64_t i = 1; i < line.size; ++i) largest = std::max(largest, x[i * line.stride]);
      T sum = 0;
      for (int64_t i = 0; i < line.size; ++i) sum += std::exp(x[i * line.stride] - largest);
      for (int64_t i = 0; i < line.size; ++i) {
        const T shifted = x[i * line.stride] - largest;
        y[i * line.stride] = logarithm ? shifted - std::log(sum) : std::exp(shifted) / sum;
      }
    });
  });
}

template <bool logarithm>
void softmax_backward_reference(const KernelCall& call) {
  dispatch_real(call.output(0).dtype(), call.op->name, [&]<class T>(T) {
    for_each_line(call.input(1).shape(), call.descriptor<SoftmaxDescriptor>().axis, [&](const Line& line) {
      const T* g = call.in<T>(0) + line.start;
      const T* y = call.in<T>(1) + line.start;
      T sum = 0;
      for (int64_t i = 0; i < line.size * line.stride; i += line.stride)
        sum += logarithm ? g[i] : g[i] * y[i];
      for (int64_t i = 0; i < line.size * line.stride; i += line.stride)
        call.out<T>(0)[line.start + i] = logarithm ? g[i] - std::exp(y[i]) * sum : y[i] * (g[i] - sum);
    });
  });
}

void softmax_gradient(GradContext& c) {
  if (c.records()) {
    const Tensor& y = c.output();
    const int axis = c.descriptor<SoftmaxDescriptor>().axis;
    return c.set(0, y * (c.grad() - sum(c.grad() * y, {axis}, true)));
  }
  c.emit(0, kSoftmaxBackward, c.descriptor<SoftmaxDescriptor>(), {&c.grad(), &c.output()});
}

void log_softmax_gradient(GradContext& c) {
  if (c.records()) {
    const int axis = c.descriptor<SoftmaxDescriptor>().axis;
    return c.set(0, c.grad() - exp(c.output()) * sum(c.grad(), {axis}, true));
  }
  c.emit(0, kLogSoftmaxBackward, c.descriptor<SoftmaxDescriptor>(), {&c.grad(), &c.output()});
}

SoftmaxDescriptor describe(const Tensor& x, int axis) { return {x.shape().normalize_axis(axis) - x.rank()}; }

}  // namespace

const OpDef kSoftmax = {.name = "softmax",
                        .infer = infer_softmax,
                        .gradient = softmax_gradient,
                        .keep_outputs = keep(0),
                        .reference = softmax_reference<false>,
                        .twice_differentiable = true};
const OpDef kLogSoftmax = {.name = "log_softmax",
                           .infer = infer_softmax,
                           .gradient = log_softmax_gradient,
                           .keep_outputs = keep(0),
                           .reference = softmax_reference<true>,
                           .twice_differentiable = true};
const OpDef kSoftmaxBackward = {.name = "softmax_backward",
                                .infer = infer_softmax_backward,
                                .reference = softmax_backward_reference<false>};
const OpDef kLogSoftmaxBackward = {.name = "log_softmax_backward",
                                   .infer = infer_softmax_backward,
                                   .reference = softmax_backward_reference<true>};

Tensor softmax(const Tensor& x, int axis) { return dispatch(kSoftmax, describe(x, axis), {&x}); }
Tensor log_softmax(const Tensor& x, int axis) { return dispatch(kLogSoftmax, describe(x, axis), {&x}); }

Tensor softmax(const Tensor& x, const Axes& axes) {
  return axes.size() == 1 ? softmax(x, *axes.begin()) : exp(log_softmax(x, axes));
}

Tensor log_softmax(const Tensor& x, const Axes& axes) {
  return axes.size() == 1 ? log_softmax(x, *axes.begin()) : x - logsumexp(x, axes, true);
}

}  // namespace nyala::ops
