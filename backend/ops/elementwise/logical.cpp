#include <functional>

#include <nyala/backend/ops/base/binary_op.h>
#include <nyala/backend/ops/elementwise/logical.h>

namespace nyala::ops {

namespace {

using namespace detail;

void infer_not(InferContext& c) { c.output(0, c.shape(0), DType::bool_); }

void not_reference(const KernelCall& call) {
  const int64_t count = call.output(0).num_elements();
  for (int64_t i = 0; i < count; ++i) call.out<bool>(0)[i] = !call.in<bool>(0)[i];
}

}  // namespace

const OpDef kLogicalAnd = {
    .name = "logical_and", .infer = infer_test, .reference = binary_loop<std::logical_and<>, bool>};
const OpDef kLogicalOr = {
    .name = "logical_or", .infer = infer_test, .reference = binary_loop<std::logical_or<>, bool>};
const OpDef kLogicalXor = {
    .name = "logical_xor", .infer = infer_test, .reference = binary_loop<std::not_equal_to<>, bool>};
const OpDef kLogicalNot = {.name = "logical_not", .infer = infer_not, .reference = not_reference};

Tensor logical_and(const Operand& a, const Operand& b) {
  return apply_binary(kLogicalAnd, a, b, DType::bool_);
}
Tensor logical_or(const Operand& a, const Operand& b) { return apply_binary(kLogicalOr, a, b, DType::bool_); }
Tensor logical_xor(const Operand& a, const Operand& b) {
  return apply_binary(kLogicalXor, a, b, DType::bool_);
}
Tensor logical_not(const Tensor& x) {
  const Tensor truth = cast(x, DType::bool_);
  return dispatch(kLogicalNot, NoDescriptor{}, {&truth});
}

}  // namespace nyala::ops
