#include <nyala/backend/kernels/cpu/dense/dense.h>
#include <nyala/backend/kernels/cpu/onednn/onednn.h>
#include <nyala/backend/ops/base/kernel_table.h>
#include <nyala/backend/ops/nn/dense.h>

namespace nyala {

using namespace nyala::detail;

namespace {

int64_t rows_of(const Tensor& tensor) { return tensor.num_elements() / tensor.shape().back(); }

onednn::MatmulProblem sizes_of(const KernelCall& call) {
  const Tensor& a = call.input(0);
  const Tensor& b = call.input(1);
  if (call.op == &ops::kDense)
    return {.rows = rows_of(a),
            .inner = b.shape()[0],
            .columns = b.shape()[1],
            .bias = call.inputs.size() > 2,
            .activation = call.descriptor<ops::ActivationDescriptor>().activation};
  if (call.op == &ops::kDenseBackwardInput)
    return {.rows = rows_of(a), .inner = b.shape()[1], .columns = b.shape()[0], .transpose_b = true};
  return {.rows = a.shape().back(), .inner = rows_of(a), .columns = b.shape().back(), .transpose_a = true};
}

onednn::MatmulProblem problem_of(const KernelCall& call) {
  onednn::MatmulProblem problem = sizes_of(call);
  problem.dtypes = onednn::dtypes_of(call);
  if (problem.bias) problem.dtypes.bias = call.input(2).dtype();
  problem.packs_b = problem.dtypes.values == DType::bfloat16 && call.op != &ops::kDenseBackwardKernel;
  return problem;
}

const char* unsupported_reason(const KernelCall& call) {
  return onednn::unsupported_reason(problem_of(call));
}

size_t workspace(const KernelCall& call) { return onednn::workspace(problem_of(call)); }

void run(const KernelCall& call) {
  const Tensor* bias = call.op == &ops::kDense && call.inputs.size() > 2 ? &call.input(2) : nullptr;
  onednn::run(problem_of(call), {{&call.input(0), &call.input(1), bias}, call.output(0), call.workspace});
}

}  // namespace

void register_dense(KernelTable& table) {
  const Kernel kernel{"onednn", unsupported_reason, workspace, run, true};
  for (const OpDef* op : {&ops::kDense, &ops::kDenseBackwardInput, &ops::kDenseBackwardKernel})
    table.add(*op, DeviceKind::cpu, kernel);
}

}  // namespace nyala
