#include <nyala/backend/ops/elementwise/bitwise.h>

#include <functional>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/binary_op.h>
#include <nyala/backend/ops/elementwise/logical.h>

namespace nyala::ops {

using namespace nyala::detail;

namespace {

using namespace detail;

void expect_integers(InferContext& c) {
  if (is_floating(c.dtype(0))) c.fail("expected integers or truth values");
}

void infer_bits(InferContext& c) {
  expect_integers(c);
  infer_broadcast(c);
}

template <class F>
void dispatch_integer(const KernelCall& call, F&& f) {
  dispatch_arithmetic(call.output(0).dtype(), call.op->name, [&]<class T>(T zero) {
    if constexpr (std::is_integral_v<T>) f(zero);
  });
}

template <class Formula>
void bits_reference(const KernelCall& call) {
  dispatch_integer(call, [&]<class T>(T) {
    for_each_broadcast(call.input(0).shape(), call.input(1).shape(), call.output(0).shape(),
                       [&](int64_t i, int64_t ia, int64_t ib) {
                         call.out<T>(0)[i] = static_cast<T>(Formula{}(call.in<T>(0)[ia], call.in<T>(1)[ib]));
                       });
  });
}

void infer_not(InferContext& c) {
  expect_integers(c);
  c.output(0, c.shape(0), c.dtype(0));
}

void not_reference(const KernelCall& call) {
  dispatch_integer(call, [&]<class T>(T) {
    const int64_t count = call.output(0).num_elements();
    for (int64_t i = 0; i < count; ++i)
      call.out<T>(0)[i] = static_cast<T>(~static_cast<int64_t>(call.in<T>(0)[i]));
  });
}

Tensor bits(const OpDef& op, const OpDef& of_truth, const Operand& a, const Operand& b) {
  const DType dtype = common_dtype(a, b, SmallIntegers::keep);
  return apply_binary(dtype == DType::bool_ ? of_truth : op, a, b, dtype);
}

}  // namespace

const OpDef kBitwiseAnd = {
    .name = "bitwise_and", .infer = infer_bits, .reference = bits_reference<std::bit_and<>>};
const OpDef kBitwiseOr = {
    .name = "bitwise_or", .infer = infer_bits, .reference = bits_reference<std::bit_or<>>};
const OpDef kBitwiseXor = {
    .name = "bitwise_xor", .infer = infer_bits, .reference = bits_reference<std::bit_xor<>>};
const OpDef kBitwiseNot = {.name = "bitwise_not", .infer = infer_not, .reference = not_reference};

Tensor bitwise_and(const Operand& a, const Operand& b) { return bits(kBitwiseAnd, kLogicalAnd, a, b); }
Tensor bitwise_or(const Operand& a, const Operand& b) { return bits(kBitwiseOr, kLogicalOr, a, b); }
Tensor bitwise_xor(const Operand& a, const Operand& b) { return bits(kBitwiseXor, kLogicalXor, a, b); }
Tensor bitwise_not(const Tensor& x) {
  return dispatch(x.dtype() == DType::bool_ ? kLogicalNot : kBitwiseNot, NoDescriptor{}, {&x});
}

}  // namespace nyala::ops

namespace nyala {

Tensor operator&(const Operand& a, const Operand& b) { return ops::bitwise_and(a, b); }
Tensor operator|(const Operand& a, const Operand& b) { return ops::bitwise_or(a, b); }
Tensor operator^(const Operand& a, const Operand& b) { return ops::bitwise_xor(a, b); }
Tensor operator~(const Tensor& x) { return ops::bitwise_not(x); }

}  // namespace nyala
