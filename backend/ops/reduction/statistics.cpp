#include <algorithm>
#include <cmath>
#include <limits>

#include <nyala/backend/ops/base/reduction_axes.h>
#include <nyala/backend/ops/base/unary_op.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/exponential.h>
#include <nyala/backend/ops/elementwise/rounding.h>
#include <nyala/backend/ops/reduction/reduction.h>
#include <nyala/backend/ops/reduction/statistics.h>

namespace nyala::ops {

using namespace nyala::detail;

namespace {

ReductionAxes summed_axes(const KernelCall& call) {
  return {call.input(0).shape(), call.descriptor<ReductionDescriptor>().axes};
}

void infer_logsumexp(InferContext& c) {
  const auto& d = c.descriptor<ReductionDescriptor>();
  c.output(0, reduced_shape(c.shape(0), d.axes, d.keepdims), c.dtype(0));
}

void infer_logsumexp_gradient(InferContext& c) { c.output(0, c.shape(0), c.dtype(0)); }

void logsumexp_reference(const KernelCall& call) {
  const ReductionAxes axes = summed_axes(call);
  dispatch_real(call.input(0).dtype(), "logsumexp", [&]<class T>(T) {
    const T* x = call.in<T>(0);
    axes.for_each_output([&](int64_t o, int64_t base) {
      double largest = -std::numeric_limits<double>::infinity(), total = 0;
      axes.for_each_member(
          base, [&](int64_t, int64_t i) { largest = std::max(largest, static_cast<double>(x[i])); });
      // An infinite shift would make infinity - infinity.
      const double shift = std::isfinite(largest) ? largest : 0.0;
      axes.for_each_member(base,
                           [&](int64_t, int64_t i) { total += std::exp(static_cast<double>(x[i]) - shift); });
      call.out<T>(0)[o] = static_cast<T>(std::log(total) + shift);
    });
  });
}

void logsumexp_gradient_reference(const KernelCall& call) {
  const ReductionAxes axes = summed_axes(call);
  dispatch_real(call.input(0).dtype(), "logsumexp", [&]<class T>(T) {
    const T* x = call.in<T>(0);
    axes.for_each_output([&](int64_t o, int64_t base) {
      const T y = call.in<T>(1)[o], dy = call.in<T>(2)[o];
      axes.for_each_member(base, [&](int64_t, int64_t i) { call.out<T>(0)[i] = dy * std::exp(x[i] - y); });
    });
  });
}

void logsumexp_gradient(GradContext& c) {
  if (c.records()) {
    const SpreadDescriptor d{c.input(0).shape(), c.descriptor<ReductionDescriptor>().axes, 1.0};
    const Tensor y = dispatch(kSpread, d, {&c.output()}), dy = dispatch(kSpread, d, {&c.grad()});
    return c.set(0, dy * exp(c.input(0) - y));
  }
  c.emit(0, kLogsumexpGradient, c.descriptor<ReductionDescriptor>(), {&c.input(0), &c.output(), &c.grad()});
}

}  // namespace

const OpDef kLogsumexp = {.name = "logsumexp",
                          .infer = infer_logsumexp,
                          .gradient = logsumexp_gradient,
                          .keep_inputs = keep(0),
                          .keep_outputs = keep(0),
                          .reference = logsumexp_reference,
                          .twice_differentiable = true};
const OpDef kLogsumexpGradient = {.name = "logsumexp_gradient",
                                  .infer = infer_logsumexp_gradient,
                                  .reference = logsumexp_gradient_reference};

namespace {

/// 16-bit floats in float32: made of several ops, each of which would round.
Tensor wide_var(const Tensor& x, const Axes& axes, bool keepdims) {
  const Tensor values = cast(x, is_floating(x.dtype()) ? dtype_of_sums(x.dtype()) : DType::float32);
  return mean(square(values - mean(values, axes, true)), axes, keepdims);
}

Tensor rounded(const Tensor& y, DType dtype) { return is_half(dtype) ? cast(y, dtype) : y; }

}  // namespace

Tensor var(const Tensor& x, const Axes& axes, bool keepdims) {
  return rounded(wide_var(x, axes, keepdims), x.dtype());
}

Tensor std(const Tensor& x, const Axes& axes, bool keepdims) {
  return rounded(sqrt(wide_var(x, axes, keepdims)), x.dtype());
}

Tensor logsumexp(const Tensor& x, const Axes& axes, bool keepdims) {
  const Tensor values = detail::real(x);
  return dispatch(kLogsumexp, ReductionDescriptor{axes_mask(x.shape(), axes, "logsumexp"), keepdims},
                  {&values});
}

}  // namespace nyala::ops
