#include <algorithm>
#include <array>
#include <string>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/dispatch.h>
#include <nyala/backend/ops/base/grad_context.h>
#include <nyala/backend/ops/base/unary_op.h>
#include <nyala/backend/ops/linalg/matrix_batch.h>
#include <nyala/backend/ops/linalg/matrix_parts.h>
#include <nyala/backend/ops/linalg/qr.h>
#include <nyala/backend/ops/linalg/solve.h>
#include <nyala/backend/ops/nn/matmul.h>
#include <nyala/backend/ops/shape/concatenate.h>

namespace nyala::ops {

using namespace nyala::detail;
using namespace nyala::ops::detail;

namespace {

void infer_qr(InferContext& c) {
  expect_matrices(c, 0);
  const Shape& x = c.shape(0);
  const int64_t rows = x[-2], columns = x[-1];
  if (rows == None || columns == None)
    c.fail("expected known sizes of the last two axes, received shape " + x.to_string());
  const int64_t inner = c.descriptor<QrDescriptor>().complete ? rows : std::min(rows, columns);
  c.output(0, x.with(-1, inner), c.dtype(0));
  c.output(1, x.with(-2, inner), c.dtype(0));
}

void qr_reference(const KernelCall& call) {
  const bool complete = call.descriptor<QrDescriptor>().complete;
  for (int64_t i = 0; i < count_matrices(call.input(0)); ++i) {
    const OrthogonalTriangular found = factor_orthogonal(read_matrix(call.input(0), i), complete);
    write_part(call.output(0), i, found.q.values);
    write_part(call.output(1), i, found.r.values);
  }
}

/// x r^-T for an upper triangular r.
Tensor by_inverse(const Tensor& x, const Tensor& r) { return transposed(solve_triangular(r, transposed(x))); }

struct QrFactors {
  Tensor q, r, dq, dr;
};

/// Of matrices with at least as many rows as columns (Roberts and Roberts 2020).
Tensor gradient_of_tall(const QrFactors& f) {
  const Tensor product = matmul(f.q, f.dq, {true, false}), other = matmul(f.r, f.dr, {false, true});
  const Tensor lower = lower_part(product - transposed(product) + other - transposed(other));
  return matmul(f.q, f.dr + by_inverse(lower, f.r)) + by_inverse(f.dq - matmul(f.q, product), f.r);
}

void qr_gradient(GradContext& c) {
  const Tensor &x = c.input(0), &q = c.output(0), &r = c.output(1);
  const int64_t rows = x.shape()[-2], columns = x.shape()[-1];
  if (rows > columns && q.shape()[-1] == rows)
    throw InvalidArgumentError(
        "qr: expected mode \"reduced\" or at most as many rows as columns for a gradient, "
        "received mode \"complete\" for shape " +
        x.shape().to_string());
  const Tensor dq = or_zeros(c.grad(0), q), dr = or_zeros(c.grad(1), r);
  if (rows >= columns) return c.set(0, gradient_of_tall({q, r, dq, dr}));
  const Tensor dr_behind = columns_from(dr, rows);
  const Tensor dq_whole = dq + matmul(columns_from(x, rows), dr_behind, {false, true});
  const Tensor front = gradient_of_tall({q, first_columns(r, rows), dq_whole, first_columns(dr, rows)});
  c.set(0, concatenate({front, matmul(q, dr_behind)}, -1));
}

}  // namespace

const OpDef kQr = {.name = "qr",
                   .num_outputs = 2,
                   .infer = infer_qr,
                   .gradient = qr_gradient,
                   .keep_inputs = keep(0),
                   .keep_outputs = keep(0, 1),
                   .reference = qr_reference,
                   .twice_differentiable = true};

Qr qr(const Tensor& x, std::string_view mode) {
  if (mode != "reduced" && mode != "complete")
    throw InvalidArgumentError("qr: expected mode \"reduced\" or \"complete\", received \"" +
                               std::string(mode) + "\"");
  const Tensor values = real(x);
  const Tensor* const inputs[] = {&values};
  std::array<Tensor, 2> outputs;
  dispatch(kQr, QrDescriptor{mode == "complete"}, inputs, outputs);
  return {outputs[0], outputs[1]};
}

}  // namespace nyala::ops
