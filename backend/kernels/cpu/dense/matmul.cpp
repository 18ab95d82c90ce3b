#include <nyala/backend/kernels/cpu/dense/matmul.h>
#include <nyala/backend/kernels/cpu/onednn/onednn.h>
#include <nyala/backend/ops/base/broadcasting.h>
#include <nyala/backend/ops/base/kernel_table.h>
#include <nyala/backend/ops/nn/matmul.h>

namespace nyala {

namespace {

/// A batch on the left of one matrix is one taller product.
bool merges_rows(const ops::MatmulGeometry& g, const ops::MatmulDescriptor& d) {
  return !d.transpose_a && g.batch_b.num_elements() == 1 && g.batch_a == g.batch;
}

onednn::MatmulProblem problem_of(const KernelCall& call) {
  const auto& d = call.descriptor<ops::MatmulDescriptor>();
  const ops::MatmulGeometry g = ops::detail::matmul_geometry(call);
  return {.rows = merges_rows(g, d) ? g.rows * g.batch.num_elements() : g.rows,
          .inner = g.inner,
          .columns = g.columns,
          .transpose_a = d.transpose_a,
          .transpose_b = d.transpose_b,
          .dtypes = onednn::dtypes_of(call)};
}

const char* unsupported_reason(const KernelCall& call) {
  return onednn::unsupported_reason(problem_of(call));
}

size_t workspace(const KernelCall& call) { return onednn::workspace(problem_of(call)); }

/// Matrix `index` of a batch.
Tensor matrix(const Tensor& batch, int64_t index, int64_t rows, int64_t columns) {
  const size_t bytes = static_cast<size_t>(index * rows * columns) * size_of(batch.dtype());
  return Tensor::view_of(batch.storage(), batch.storage_offset() + bytes, {rows, columns}, batch.dtype());
}

void run(const KernelCall& call) {
  const onednn::MatmulProblem problem = problem_of(call);
  const ops::MatmulGeometry g = ops::detail::matmul_geometry(call);
  if (g.batch.num_elements() == 1 || merges_rows(g, call.descriptor<ops::MatmulDescriptor>())) {
    onednn::run(problem, {{&call.input(0), &call.input(1), nullptr}, call.output(0), call.workspace});
    return;
  }
  for_each_broadcast(g.batch_a, g.batch_b, g.batch, [&](int64_t i, int64_t ia, int64_t ib) {
    const Tensor a = matrix(call.input(0), ia, g.rows, g.inner),
                 b = matrix(call.input(1), ib, g.inner, g.columns);
    onednn::run(problem, {{&a, &b, nullptr}, matrix(call.output(0), i, g.rows, g.columns), call.workspace});
  });
}

}  // namespace

void register_matmul(KernelTable& table) {
  table.add(ops::kMatmul, DeviceKind::cpu, {"onednn", unsupported_reason, workspace, run, true});
}

}  // namespace nyala
