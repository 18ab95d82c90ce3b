#pragma once

#include <string_view>
#include <type_traits>

#include <nyala/backend/core/op.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/base/dispatch.h>
#include <nyala/backend/ops/base/grad_context.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>

/// How the units of elementwise functions of one tensor are made. A formula is a struct with
///   using Parameters = ...;                              the op's descriptor
///   static T value(T x, const Parameters&)               f(x)
///   static T slope(T x_or_y, const Parameters&)          f'(x), from x or from y = f(x), whichever is
///   cheaper
/// and for second derivatives one of
///   static constexpr bool kSlopeTakesTensors = true      slope() is arithmetic that tensors have, too
///   static constexpr bool kPiecewiseLinear = true        f' is constant piece by piece
///   static Tensor slope_op(const Tensor& x_or_y, const Parameters&)   f' made of ops that have gradients
/// Each function is one op, and its gradient one more: (x or y, gradient) -> gradient of x.
namespace nyala::ops::detail {

void infer_unary(InferContext& c);
void infer_unary_gradient(InferContext& c);

template <class Formula>
void unary_reference(const KernelCall& call) {
  using Parameters = typename Formula::Parameters;
  const Parameters parameters = call.descriptor<Parameters>();
  const auto loop = [&]<class T>(T) {
    const T* x = call.in<T>(0);
    T* y = call.out<T>(0);
    const int64_t count = call.output(0).num_elements();
    for (int64_t i = 0; i < count; ++i) y[i] = static_cast<T>(Formula::value(x[i], parameters));
  };
  if constexpr (requires { Formula::kTakesIntegers; })
    nyala::detail::dispatch_arithmetic(call.input(0).dtype(), call.op->name, loop);
  else
    nyala::detail::dispatch_real(call.input(0).dtype(), call.op->name, loop);
}

template <class Formula>
void unary_gradient_reference(const KernelCall& call) {
  using Parameters = typename Formula::Parameters;
  const Parameters parameters = call.descriptor<Parameters>();
  nyala::detail::dispatch_real(call.input(0).dtype(), call.op->name, [&]<class T>(T) {
    const T* kept = call.in<T>(0);
    const T* dy = call.in<T>(1);
    T* dx = call.out<T>(0);
    const int64_t count = call.output(0).num_elements();
    for (int64_t i = 0; i < count; ++i) dx[i] = static_cast<T>(dy[i] * Formula::slope(kept[i], parameters));
  });
}

template <class Formula>
inline constexpr bool kIsTwiceDifferentiable = requires {
  Formula::kSlopeTakesTensors;
}
|| requires { Formula::kPiecewiseLinear; }
|| requires { &Formula::slope_op; };

/// f'(x) as a tensor that can be differentiated.
template <class Formula, const OpDef& gradient_op>
Tensor recorded_slope(const Tensor& kept, const typename Formula::Parameters& parameters) {
  if constexpr (requires { &Formula::slope_op; }) {
    return Formula::slope_op(kept, parameters);
  } else if constexpr (requires { Formula::kSlopeTakesTensors; }) {
    return Formula::slope(kept, parameters);
  } else {
    const Tensor fixed = kept.detached(), ones = ones_like(fixed);
    return dispatch(gradient_op, parameters, {&fixed, &ones});
  }
}

template <class Formula, const OpDef& gradient_op, bool kFromOutput>
void unary_gradient(GradContext& c) {
  using Parameters = typename Formula::Parameters;
  const Tensor& kept = kFromOutput ? c.output() : c.input(0);
  if (!is_floating(kept.dtype())) return;
  if constexpr (kIsTwiceDifferentiable<Formula>) {
    if (c.records())
      return c.set(0, c.grad() * recorded_slope<Formula, gradient_op>(kept, c.descriptor<Parameters>()));
  }
  c.emit(0, gradient_op, c.descriptor<Parameters>(), {&kept, &c.grad()});
}

/// The gradient's op.
template <class Formula>
constexpr OpDef unary_gradient_op(std::string_view name) {
  OpDef op;
  op.name = name;
  op.infer = infer_unary_gradient;
  op.reference = unary_gradient_reference<Formula>;
  return op;
}

/// An op whose slope is told by x.
template <class Formula, const OpDef& gradient_op>
constexpr OpDef unary_op_of_input(std::string_view name) {
  OpDef op;
  op.name = name;
  op.infer = infer_unary;
  op.gradient = unary_gradient<Formula, gradient_op, false>;
  op.keep_inputs = nyala::detail::keep(0);
  op.reference = unary_reference<Formula>;
  op.twice_differentiable = kIsTwiceDifferentiable<Formula>;
  return op;
}

/// An op whose slope is told by y.
template <class Formula, const OpDef& gradient_op>
constexpr OpDef unary_op_of_output(std::string_view name) {
  OpDef op;
  op.name = name;
  op.infer = infer_unary;
  op.gradient = unary_gradient<Formula, gradient_op, true>;
  op.keep_outputs = nyala::detail::keep(0);
  op.reference = unary_reference<Formula>;
  op.twice_differentiable = kIsTwiceDifferentiable<Formula>;
  return op;
}

/// An op that has a slope of zero nearly everywhere: its results are not tracked.
template <class Formula>
constexpr OpDef unary_op_without_gradient(std::string_view name) {
  OpDef op;
  op.name = name;
  op.infer = infer_unary;
  op.reference = unary_reference<Formula>;
  return op;
}

void zero_gradient(GradContext& c);

/// An op that has a slope of zero nearly everywhere and says so, where TensorFlow's does, too.
template <class Formula>
constexpr OpDef unary_op_of_slope_zero(std::string_view name) {
  OpDef op = unary_op_without_gradient<Formula>(name);
  op.gradient = zero_gradient;
  op.twice_differentiable = true;
  return op;
}

/// Integers and bool as float32, floats as they are.
inline Tensor real(const Tensor& x) { return is_floating(x.dtype()) ? x : cast(x, DType::float32); }

template <class Parameters = NoDescriptor>
Tensor apply(const OpDef& op, const Tensor& x, const Parameters& parameters = {}) {
  return dispatch(op, parameters, {&x});
}

}  // namespace nyala::ops::detail
