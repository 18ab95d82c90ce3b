// The reference sums in double or in int64; sums of bool become int32, those of uint8 int64. The gradient of
// a maximum is shared equally among the elements that tie. The gradient of a product is the product of the
// other elements: the whole product divided by the element where none is zero. With one zero only that
// element gets a gradient, with two or more none does.
#include <algorithm>
#include <type_traits>

#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/base/dispatch.h>
#include <nyala/backend/ops/base/grad_context.h>
#include <nyala/backend/ops/base/reduction_axes.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/reduction/reduction.h>
#include <nyala/backend/ops/shape/shape.h>

namespace nyala::ops {

using namespace nyala::detail;

namespace {

template <class T>
using Accumulator = std::conditional_t<std::is_floating_point_v<T>, double, int64_t>;
/// What sums and products of T are.
template <class T>
using Total = std::conditional_t<std::is_same_v<T, bool>, int32_t,
                                 std::conditional_t<std::is_same_v<T, uint8_t>, int64_t, T>>;

DType total_dtype(DType dtype) {
  if (dtype == DType::uint8) return DType::int64;
  return dtype == DType::bool_ ? DType::int32 : dtype;
}

Shape output_shape(InferContext& c) {
  const auto& d = c.descriptor<ReductionDescriptor>();
  return reduced_shape(c.shape(0), d.axes, d.keepdims);
}

void infer_total(InferContext& c) { c.output(0, output_shape(c), total_dtype(c.dtype(0))); }
void infer_same_dtype(InferContext& c) { c.output(0, output_shape(c), c.dtype(0)); }
void infer_bool(InferContext& c) { c.output(0, output_shape(c), DType::bool_); }
void infer_like_first(InferContext& c) { c.output(0, c.shape(0), c.dtype(0)); }

void infer_mean(InferContext& c) {
  if (!is_floating(c.dtype(0))) c.fail("expected floating point values");
  infer_same_dtype(c);
}

void infer_extremum(InferContext& c) {
  const Shape& shape = c.shape(0);
  const uint32_t axes = c.descriptor<ReductionDescriptor>().axes;
  bool kept_empty = false, reduced_empty = false;
  for (int axis = 0; axis < shape.rank(); ++axis)
    if (shape[axis] == 0) (axes >> axis & 1u ? reduced_empty : kept_empty) = true;
  if (reduced_empty && !kept_empty)
    c.fail("expected at least one value along the reduced axes, received shape " + shape.to_string());
  infer_same_dtype(c);
}

ReductionAxes axes_of(const KernelCall& call) {
  return {call.input(0).shape(), call.descriptor<ReductionDescriptor>().axes};
}

/// Runs y[o] = finish(fold of combine over the group, starting from `start`).
template <class T, class Out, class State, class Combine>
void fold(const KernelCall& call, State start, Combine&& combine) {
  const ReductionAxes axes = axes_of(call);
  const T* x = call.in<T>(0);
  Out* y = call.out<Out>(0);
  axes.for_each_output([&](int64_t o, int64_t base) {
    State state = start;
    axes.for_each_member(base, [&](int64_t, int64_t i) { state = combine(state, x[i]); });
    y[o] = static_cast<Out>(state);
  });
}

void sum_reference(const KernelCall& call) {
  dispatch_arithmetic(call.input(0).dtype(), "sum", [&]<class T>(T) {
    using A = Accumulator<T>;
    fold<T, Total<T>>(call, A{0}, [](A a, T b) { return a + static_cast<A>(b); });
  });
}

void prod_reference(const KernelCall& call) {
  dispatch_arithmetic(call.input(0).dtype(), "prod", [&]<class T>(T) {
    using A = Accumulator<T>;
    fold<T, Total<T>>(call, A{1}, [](A a, T b) { return a * static_cast<A>(b); });
  });
}

void mean_reference(const KernelCall& call) {
  const ReductionAxes axes = axes_of(call);
  dispatch_real(call.input(0).dtype(), "mean", [&]<class T>(T) {
    const T* x = call.in<T>(0);
    axes.for_each_output([&](int64_t o, int64_t base) {
      double total = 0;
      axes.for_each_member(base, [&](int64_t, int64_t i) { total += static_cast<double>(x[i]); });
      call.out<T>(0)[o] = static_cast<T>(total / static_cast<double>(axes.group()));
    });
  });
}

template <bool kLargest>
void extremum_reference(const KernelCall& call) {
  const ReductionAxes axes = axes_of(call);
  dispatch_arithmetic(call.input(0).dtype(), call.op->name, [&]<class T>(T) {
    const T* x = call.in<T>(0);
    axes.for_each_output([&](int64_t o, int64_t base) {
      T best = x[base];
      axes.for_each_member(base, [&](int64_t, int64_t i) {
        const bool better = kLargest ? x[i] > best : x[i] < best;
        if (better || x[i] != x[i]) best = x[i];
      });
      call.out<T>(0)[o] = best;
    });
  });
}

template <bool kEvery>
void truth_reference(const KernelCall& call) {
  dispatch_arithmetic(call.input(0).dtype(), call.op->name, [&]<class T>(T) {
    fold<T, bool>(call, kEvery, [](bool a, T b) { return kEvery ? a && b != T{} : a || b != T{}; });
  });
}

void spread_reference(const KernelCall& call) {
  const auto& d = call.descriptor<SpreadDescriptor>();
  const ReductionAxes axes(d.shape, d.axes);
  dispatch_arithmetic(call.output(0).dtype(), "spread", [&]<class T>(T) {
    using Factor = std::conditional_t<std::is_same_v<T, float>, float, double>;
    axes.for_each_output([&](int64_t o, int64_t base) {
      const T value = static_cast<T>(static_cast<Factor>(call.in<T>(0)[o]) * static_cast<Factor>(d.scale));
      axes.for_each_member(base, [&](int64_t, int64_t i) { call.out<T>(0)[i] = value; });
    });
  });
}

void infer_spread(InferContext& c) { c.output(0, c.descriptor<SpreadDescriptor>().shape, c.dtype(0)); }

void extremum_gradient_reference(const KernelCall& call) {
  const ReductionAxes axes = axes_of(call);
  dispatch_real(call.output(0).dtype(), "max", [&]<class T>(T) {
    const T* x = call.in<T>(0);
    T* dx = call.out<T>(0);
    axes.for_each_output([&](int64_t o, int64_t base) {
      const T best = call.in<T>(1)[o];
      const auto chosen = [&](int64_t i) { return x[i] == best || (x[i] != x[i] && best != best); };
      int64_t ties = 0;
      axes.for_each_member(base, [&](int64_t, int64_t i) { ties += chosen(i); });
      const T share = call.in<T>(2)[o] / static_cast<T>(ties);
      axes.for_each_member(base, [&](int64_t, int64_t i) { dx[i] = chosen(i) ? share : T{0}; });
    });
  });
}

// The product of the others is total / x[i] only without zeros: with one zero it alone has a gradient, with
// two none.
void prod_gradient_reference(const KernelCall& call) {
  const ReductionAxes axes = axes_of(call);
  dispatch_real(call.output(0).dtype(), "prod", [&]<class T>(T) {
    const T* x = call.in<T>(0);
    T* dx = call.out<T>(0);
    axes.for_each_output([&](int64_t o, int64_t base) {
      double others = 1;
      int64_t zeros = 0;
      axes.for_each_member(base, [&](int64_t, int64_t i) {
        if (x[i] == T{0})
          ++zeros;
        else
          others *= static_cast<double>(x[i]);
      });
      const double scaled = others * static_cast<double>(call.in<T>(1)[o]);
      axes.for_each_member(base, [&](int64_t, int64_t i) {
        if (zeros == 0)
          dx[i] = static_cast<T>(scaled / static_cast<double>(x[i]));
        else
          dx[i] = zeros == 1 && x[i] == T{0} ? static_cast<T>(scaled) : T{0};
      });
    });
  });
}

void spread_gradient(GradContext& c, double scale) {
  const SpreadDescriptor d{c.input(0).shape(), c.descriptor<ReductionDescriptor>().axes, scale};
  c.emit(0, kSpread, d, {&c.grad()});
}

void spread_back(GradContext& c) {
  const auto& d = c.descriptor<SpreadDescriptor>();
  const Tensor total = dispatch(kSum, ReductionDescriptor{d.axes, true}, {&c.grad()});
  c.set(0, viewed(d.scale == 1.0 ? total : total * d.scale, c.input(0).shape()));
}

void sum_gradient(GradContext& c) {
  if (is_floating(c.input(0).dtype())) spread_gradient(c, 1.0);
}

void mean_gradient(GradContext& c) {
  const int64_t group = c.input(0).num_elements() / std::max<int64_t>(1, c.output().num_elements());
  spread_gradient(c, 1.0 / static_cast<double>(std::max<int64_t>(1, group)));
}

// Which elements share the gradient is constant piece by piece.
void record_extremum_gradient(GradContext& c) {
  const ReductionDescriptor& d = c.descriptor<ReductionDescriptor>();
  const Tensor x = c.input(0).detached(), y = c.output().detached(), ones = ones_like(y);
  const Tensor shares = dispatch(kExtremumGradient, d, {&x, &y, &ones});
  c.set(0, dispatch(kSpread, SpreadDescriptor{x.shape(), d.axes, 1.0}, {&c.grad()}) * shares);
}

void extremum_gradient(GradContext& c) {
  if (!is_floating(c.input(0).dtype())) return;
  if (c.records())
    record_extremum_gradient(c);
  else
    c.emit(0, kExtremumGradient, c.descriptor<ReductionDescriptor>(), {&c.input(0), &c.output(), &c.grad()});
}

void prod_gradient(GradContext& c) {
  if (is_floating(c.input(0).dtype()))
    c.emit(0, kProdGradient, c.descriptor<ReductionDescriptor>(), {&c.input(0), &c.grad()});
}

Tensor reduce(const OpDef& op, const Tensor& x, const Axes& axes, bool keepdims) {
  return dispatch(op, ReductionDescriptor{axes_mask(x.shape(), axes, op.name), keepdims}, {&x});
}

}  // namespace

const OpDef kSum = {.name = "sum",
                    .infer = infer_total,
                    .gradient = sum_gradient,
                    .reference = sum_reference,
                    .twice_differentiable = true};
const OpDef kMean = {.name = "mean",
                     .infer = infer_mean,
                     .gradient = mean_gradient,
                     .reference = mean_reference,
                     .twice_differentiable = true};
const OpDef kMax = {.name = "max",
                    .infer = infer_extremum,
                    .gradient = extremum_gradient,
                    .keep_inputs = keep(0),
                    .keep_outputs = keep(0),
                    .reference = extremum_reference<true>,
                    .twice_differentiable = true};
const OpDef kMin = {.name = "min",
                    .infer = infer_extremum,
                    .gradient = extremum_gradient,
                    .keep_inputs = keep(0),
                    .keep_outputs = keep(0),
                    .reference = extremum_reference<false>,
                    .twice_differentiable = true};
const OpDef kProd = {.name = "prod",
                     .infer = infer_total,
                     .gradient = prod_gradient,
                     .keep_inputs = keep(0),
                     .reference = prod_reference};
const OpDef kAny = {.name = "any", .infer = infer_bool, .reference = truth_reference<false>};
const OpDef kAll = {.name = "all", .infer = infer_bool, .reference = truth_reference<true>};
const OpDef kSpread = {.name = "spread",
                       .infer = infer_spread,
                       .gradient = spread_back,
                       .reference = spread_reference,
                       .twice_differentiable = true};
const OpDef kExtremumGradient = {
    .name = "extremum_gradient", .infer = infer_like_first, .reference = extremum_gradient_reference};
const OpDef kProdGradient = {
    .name = "prod_gradient", .infer = infer_like_first, .reference = prod_gradient_reference};

Tensor sum(const Tensor& x, const Axes& axes, bool keepdims) { return reduce(kSum, x, axes, keepdims); }
Tensor mean(const Tensor& x, const Axes& axes, bool keepdims) {
  return reduce(kMean, is_floating(x.dtype()) ? x : cast(x, DType::float32), axes, keepdims);
}
Tensor max(const Tensor& x, const Axes& axes, bool keepdims) { return reduce(kMax, x, axes, keepdims); }
Tensor min(const Tensor& x, const Axes& axes, bool keepdims) { return reduce(kMin, x, axes, keepdims); }
Tensor prod(const Tensor& x, const Axes& axes, bool keepdims) { return reduce(kProd, x, axes, keepdims); }
Tensor any(const Tensor& x, const Axes& axes, bool keepdims) { return reduce(kAny, x, axes, keepdims); }
Tensor all(const Tensor& x, const Axes& axes, bool keepdims) { return reduce(kAll, x, axes, keepdims); }

}  // namespace nyala::ops
