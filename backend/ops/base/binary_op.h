#pragma once

#include <nyala/backend/core/op.h>
#include <nyala/backend/ops/base/broadcasting.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/base/dispatch.h>

/// How the units of elementwise functions of two tensors are made.
namespace nyala::ops::detail {

/// Shape rule of tests of two inputs of one dtype: a broadcast bool.
void infer_test(InferContext& c);

/// y = Formula{}(a, b) over a broadcast pair of inputs of one dtype; Out is void for the inputs' dtype.
template <class Formula, class Out = void>
void binary_loop(const KernelCall& call) {
  nyala::detail::dispatch_arithmetic(call.input(0).dtype(), call.op->name, [&]<class T>(T) {
    using Result = std::conditional_t<std::is_void_v<Out>, T, Out>;
    const T* a = call.in<T>(0);
    const T* b = call.in<T>(1);
    Result* y = call.out<Result>(0);
    for_each_broadcast(
        call.input(0).shape(), call.input(1).shape(), call.output(0).shape(),
        [&](int64_t i, int64_t ia, int64_t ib) { y[i] = static_cast<Result>(Formula{}(a[ia], b[ib])); });
  });
}

/// What becomes of truth values and bytes beside a whole number: `keep` their dtype where it holds the
/// number, or `widen` to int32, so that the result does not wrap around.
enum class SmallIntegers { keep, widen };

/// The dtype in which two operands meet.
DType common_dtype(const Operand& a, const Operand& b, SmallIntegers small);
/// `dtype`, or float32 for integers.
DType floating_of(DType dtype);

/// A number as an operand.
Operand operand_of(const Number& number);

/// `x` in `dtype`; a number as a scalar on the device of `other`. Refers to `x` or `made`.
const Tensor& in_dtype(const Operand& x, DType dtype, const Operand& other, Tensor& made);

/// Both inputs in `dtype`.
template <class Parameters = NoDescriptor>
Tensor apply_binary(const OpDef& op, const Operand& a, const Operand& b, DType dtype,
                    const Parameters& p = {}) {
  Tensor made_x, made_y;
  const Tensor &x = in_dtype(a, dtype, b, made_x), &y = in_dtype(b, dtype, a, made_y);
  return dispatch(op, p, {&x, &y});
}

}  // namespace nyala::ops::detail
