#include <array>

#include <nyala/backend/ops/base/dispatch.h>
#include <nyala/backend/ops/base/grad_context.h>
#include <nyala/backend/ops/base/unary_op.h>
#include <nyala/backend/ops/linalg/determinant.h>
#include <nyala/backend/ops/linalg/matrix_batch.h>
#include <nyala/backend/ops/linalg/matrix_parts.h>
#include <nyala/backend/ops/linalg/solve.h>
#include <nyala/backend/ops/shape/shape.h>

namespace nyala::ops {

using namespace nyala::detail;
using namespace nyala::ops::detail;

namespace {

void infer_det(InferContext& c) {
  expect_square_matrices(c, 0);
  c.output(0, batch_shape(c.shape(0)), c.dtype(0));
}

void infer_slogdet(InferContext& c) {
  infer_det(c);
  c.output(1, batch_shape(c.shape(0)), c.dtype(0));
}

void det_reference(const KernelCall& call) {
  for (int64_t i = 0; i < count_matrices(call.input(0)); ++i)
    write_part(call.output(0), i, {determinant_of(read_matrix(call.input(0), i))});
}

void slogdet_reference(const KernelCall& call) {
  for (int64_t i = 0; i < count_matrices(call.input(0)); ++i) {
    const LogDeterminant found = log_determinant_of(read_matrix(call.input(0), i));
    write_part(call.output(0), i, {found.sign});
    write_part(call.output(1), i, {found.log});
  }
}

void det_gradient(GradContext& c) {
  c.set(0, expand_dims(c.grad() * c.output(), {-2, -1}) * transposed(inv(c.input(0))));
}

void slogdet_gradient(GradContext& c) {
  if (c.grad(1).defined()) c.set(0, expand_dims(c.grad(1), {-2, -1}) * transposed(inv(c.input(0))));
}

}  // namespace

const OpDef kDet = {.name = "det",
                    .infer = infer_det,
                    .gradient = det_gradient,
                    .keep_inputs = keep(0),
                    .keep_outputs = keep(0),
                    .reference = det_reference,
                    .twice_differentiable = true};
const OpDef kSlogdet = {.name = "slogdet",
                        .num_outputs = 2,
                        .infer = infer_slogdet,
                        .gradient = slogdet_gradient,
                        .keep_inputs = keep(0),
                        .reference = slogdet_reference,
                        .twice_differentiable = true};

Tensor det(const Tensor& x) { return apply(kDet, real(x)); }

Slogdet slogdet(const Tensor& x) {
  const Tensor values = real(x);
  const Tensor* const inputs[] = {&values};
  std::array<Tensor, 2> outputs;
  dispatch(kSlogdet, NoDescriptor{}, inputs, outputs);
  return {outputs[0], outputs[1]};
}

}  // namespace nyala::ops
