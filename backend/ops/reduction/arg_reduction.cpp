// Of equal values the first wins, as in NumPy. A NaN is chosen only where there is nothing else. top_k sorts
// indices in part, O(n log k), equal values by their place.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <vector>

#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/base/dispatch.h>
#include <nyala/backend/ops/base/grad_context.h>
#include <nyala/backend/ops/base/reduction_axes.h>
#include <nyala/backend/ops/reduction/arg_reduction.h>
#include <nyala/backend/ops/reduction/reduction.h>

namespace nyala::ops {

using namespace nyala::detail;

namespace {

void infer_arg(InferContext& c) {
  const auto& d = c.descriptor<ReductionDescriptor>();
  const Shape out = reduced_shape(c.shape(0), d.axes, d.keepdims);
  for (int axis = 0; axis < c.shape(0).rank(); ++axis)
    if ((d.axes >> axis & 1u) && c.shape(0)[axis] == 0)
      c.fail("expected at least one value along axis " + std::to_string(axis) + ", received shape " +
             c.shape(0).to_string());
  c.output(0, out, DType::int32);
}

template <bool kLargest>
void arg_reference(const KernelCall& call) {
  const ReductionAxes axes(call.input(0).shape(), call.descriptor<ReductionDescriptor>().axes);
  dispatch_arithmetic(call.input(0).dtype(), call.op->name, [&]<class T>(T) {
    const T* x = call.in<T>(0);
    axes.for_each_output([&](int64_t o, int64_t base) {
      T best = x[base];
      int64_t chosen = 0;
      axes.for_each_member(base, [&](int64_t k, int64_t i) {
        const bool better = (kLargest ? x[i] > best : x[i] < best) || (best != best && x[i] == x[i]);
        if (!better) return;
        best = x[i];
        chosen = k;
      });
      call.out<int32_t>(0)[o] = static_cast<int32_t>(chosen);
    });
  });
}

Tensor arg(const OpDef& op, const Tensor& x, std::optional<int> axis, bool keepdims) {
  const std::vector<int> axes = axis ? std::vector<int>{*axis} : std::vector<int>{};
  return dispatch(op, ReductionDescriptor{axes_mask(x.shape(), axes, op.name), keepdims}, {&x});
}

void infer_top_k(InferContext& c) {
  const int64_t k = c.descriptor<TopKDescriptor>().k;
  if (c.shape(0).rank() == 0) c.fail("expected at least one axis, received a scalar");
  const int64_t size = c.shape(0).back();
  if (k < 1 || (size != None && k > size))
    c.fail("expected k from 1 to the size of the last axis, received k " + std::to_string(k) + " for shape " +
           c.shape(0).to_string());
  const Shape out = c.shape(0).with(-1, k);
  c.output(0, out, c.dtype(0));
  c.output(1, out, DType::int32);
}

void top_k_reference(const KernelCall& call) {
  const int64_t k = call.descriptor<TopKDescriptor>().k, size = call.input(0).shape().back();
  std::vector<int32_t> order(static_cast<size_t>(size));
  dispatch_arithmetic(call.input(0).dtype(), "top_k", [&]<class T>(T) {
    const int64_t rows = call.output(0).num_elements() / k;
    for (int64_t row = 0; row < rows; ++row) {
      const T* x = call.in<T>(0) + row * size;
      std::iota(order.begin(), order.end(), 0);
      const auto above = [x](int32_t a, int32_t b) {
        const bool a_nan = x[a] != x[a], b_nan = x[b] != x[b];
        if (a_nan || b_nan || x[a] == x[b]) return a_nan == b_nan ? a < b : b_nan;
        return x[a] > x[b];
      };
      std::partial_sort(order.begin(), order.begin() + k, order.end(), above);
      for (int64_t i = 0; i < k; ++i) {
        call.out<int32_t>(1)[row * k + i] = order[static_cast<size_t>(i)];
        call.out<T>(0)[row * k + i] = x[order[static_cast<size_t>(i)]];
      }
    }
  });
}

void infer_top_k_gradient(InferContext& c) {
  c.output(0, c.shape(1).with(-1, c.descriptor<TopKDescriptor>().axis_size), c.dtype(1));
}

void top_k_gradient_reference(const KernelCall& call) {
  const auto& d = call.descriptor<TopKDescriptor>();
  dispatch_real(call.output(0).dtype(), "top_k", [&]<class T>(T) {
    T* dx = call.out<T>(0);
    std::fill_n(dx, call.output(0).num_elements(), T(0));
    for (int64_t i = 0; i < call.input(0).num_elements(); ++i)
      dx[i / d.k * d.axis_size + call.in<int32_t>(0)[i]] = call.in<T>(1)[i];
  });
}

void top_k_gradient(GradContext& c) {
  if (!is_floating(c.input(0).dtype()) || !c.grad(0).defined()) return;
  const TopKDescriptor d{c.descriptor<TopKDescriptor>().k, c.input(0).shape().back()};
  c.emit(0, kTopKGradient, d, {&c.output(1), &c.grad(0)});
}

void infer_in_top_k(InferContext& c) {
  if (c.shape(1).rank() != 2)
    c.fail("expected predictions of shape (rows, classes), received " + c.shape(1).to_string());
  if (!matches(c.shape(0), c.shape(1).slice(0, 1)))
    c.fail("expected one target per row of predictions " + c.shape(1).to_string() + ", received " +
           c.shape(0).to_string());
  if (c.descriptor<TopKDescriptor>().k < 1) c.fail("expected k >= 1");
  c.output(0, c.shape(0), DType::bool_);
}

void in_top_k_reference(const KernelCall& call) {
  const int64_t k = call.descriptor<TopKDescriptor>().k, classes = call.input(1).shape().back();
  dispatch_real(call.input(1).dtype(), "in_top_k", [&]<class T>(T) {
    for (int64_t row = 0; row < call.output(0).num_elements(); ++row) {
      const T* x = call.in<T>(1) + row * classes;
      const int64_t target = call.in<int64_t>(0)[row];
      bool found = target >= 0 && target < classes && std::isfinite(x[target]);
      if (found) found = std::count_if(x, x + classes, [&](T value) { return value > x[target]; }) < k;
      call.out<bool>(0)[row] = found;
    }
  });
}

}  // namespace

const OpDef kArgmax = {.name = "argmax", .infer = infer_arg, .reference = arg_reference<true>};
const OpDef kArgmin = {.name = "argmin", .infer = infer_arg, .reference = arg_reference<false>};

const OpDef kTopK = {.name = "top_k",
                     .num_outputs = 2,
                     .infer = infer_top_k,
                     .gradient = top_k_gradient,
                     .keep_outputs = keep(1),
                     .reference = top_k_reference};
const OpDef kTopKGradient = {
    .name = "top_k_gradient", .infer = infer_top_k_gradient, .reference = top_k_gradient_reference};
const OpDef kInTopK = {.name = "in_top_k", .infer = infer_in_top_k, .reference = in_top_k_reference};

TopK top_k(const Tensor& x, int64_t k) {
  std::array<Tensor, 2> outputs;
  const Tensor* const inputs[] = {&x};
  dispatch(kTopK, TopKDescriptor{k, 0}, inputs, outputs);
  return {outputs[0], outputs[1]};
}

Tensor in_top_k(const Tensor& targets, const Tensor& predictions, int64_t k) {
  const Tensor classes = cast(targets, DType::int64);
  return dispatch(kInTopK, TopKDescriptor{k, 0}, {&classes, &predictions});
}

Tensor argmax(const Tensor& x, std::optional<int> axis, bool keepdims) {
  return arg(kArgmax, x, axis, keepdims);
}
Tensor argmin(const Tensor& x, std::optional<int> axis, bool keepdims) {
  return arg(kArgmin, x, axis, keepdims);
}

}  // namespace nyala::ops
