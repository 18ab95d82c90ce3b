#include <array>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/dispatch.h>
#include <nyala/backend/ops/base/grad_context.h>
#include <nyala/backend/ops/base/unary_op.h>
#include <nyala/backend/ops/linalg/eigh.h>
#include <nyala/backend/ops/linalg/matrix_batch.h>
#include <nyala/backend/ops/linalg/matrix_parts.h>
#include <nyala/backend/ops/nn/matmul.h>
#include <nyala/backend/ops/shape/shape.h>

namespace nyala::ops {

using namespace nyala::detail;
using namespace nyala::ops::detail;

namespace {

void infer_eigh(InferContext& c) {
  expect_square_matrices(c, 0);
  c.output(0, c.shape(0).slice(0, c.shape(0).rank() - 1), c.dtype(0));
  c.output(1, c.shape(0), c.dtype(0));
}

void eigh_reference(const KernelCall& call) {
  for (int64_t i = 0; i < count_matrices(call.input(0)); ++i) {
    const auto found = symmetric_eigen(read_matrix(call.input(0), i));
    if (!found) fail_at_values(call, "expected symmetric matrices of finite numbers");
    write_part(call.output(0), i, found->values);
    write_part(call.output(1), i, found->vectors.values);
  }
}

/// V (diag(dw) + F * (V^T dV)) V^T with F_ij = 1 / (w_j - w_i) (Giles 2008), folded onto the lower triangle.
void eigh_gradient(GradContext& c) {
  const Tensor &values = c.output(0), &vectors = c.output(1);
  Tensor inner = diagonal_matrix(or_zeros(c.grad(0), values));
  if (c.grad(1).defined()) {
    const Tensor distances = expand_dims(values, -2) - expand_dims(values, -1);
    inner = inner + safe_reciprocal(distances) * matmul(vectors, c.grad(1), {true, false});
  }
  const Tensor whole = matmul(matmul(vectors, inner), vectors, {false, true});
  c.set(0, with_half_diagonal(lower_part(whole + transposed(whole))));
}

}  // namespace

const OpDef kEigh = {.name = "eigh",
                     .num_outputs = 2,
                     .infer = infer_eigh,
                     .gradient = eigh_gradient,
                     .keep_outputs = keep(0, 1),
                     .reference = eigh_reference,
                     .twice_differentiable = true};

Eigh eigh(const Tensor& x) {
  const Tensor values = real(x);
  const Tensor* const inputs[] = {&values};
  std::array<Tensor, 2> outputs;
  dispatch(kEigh, NoDescriptor{}, inputs, outputs);
  return {outputs[0], outputs[1]};
}

void eig(const Tensor& x) {
  throw DTypeError("eig: its results for x of shape " + x.shape().to_string() +
                   " are complex numbers, for which there is no dtype; eigh takes symmetric matrices, whose "
                   "eigenvalues are real");
}

}  // namespace nyala::ops
