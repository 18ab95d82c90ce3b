#include <cmath>
#include <limits>

#include <nyala/backend/ops/base/dispatch.h>
#include <nyala/backend/ops/base/grad_context.h>
#include <nyala/backend/ops/base/unary_op.h>
#include <nyala/backend/ops/linalg/cholesky.h>
#include <nyala/backend/ops/linalg/matrix_batch.h>
#include <nyala/backend/ops/linalg/matrix_parts.h>
#include <nyala/backend/ops/linalg/solve.h>
#include <nyala/backend/ops/nn/matmul.h>
#include <nyala/backend/ops/shape/shape.h>

namespace nyala::ops {

using namespace nyala::detail;
using namespace nyala::ops::detail;

namespace {

void infer_square(InferContext& c) {
  expect_square_matrices(c, 0);
  c.output(0, c.shape(0), c.dtype(0));
}

void infer_logdet(InferContext& c) {
  expect_square_matrices(c, 0);
  c.output(0, batch_shape(c.shape(0)), c.dtype(0));
}

void cholesky_reference(const KernelCall& call) {
  for (int64_t i = 0; i < count_matrices(call.input(0)); ++i) {
    WideMatrix matrix = read_matrix(call.input(0), i);
    if (const auto factor = cholesky_factor(matrix))
      matrix = *factor;
    else if (call.descriptor<CholeskyDescriptor>().nan_where_not_definite)
      matrix.values.assign(matrix.values.size(), std::numeric_limits<double>::quiet_NaN());
    else
      fail_at_values(call, "expected positive definite matrices: their eigenvalues are above 0");
    write_part(call.output(0), i, matrix.values);
  }
}

void cholesky_inverse_reference(const KernelCall& call) {
  const bool upper = call.descriptor<CholeskyInverseDescriptor>().upper;
  for (int64_t i = 0; i < count_matrices(call.input(0)); ++i)
    write_part(call.output(0), i, inverse_of_factored(read_matrix(call.input(0), i), upper).values);
}

void logdet_reference(const KernelCall& call) {
  for (int64_t i = 0; i < count_matrices(call.input(0)); ++i) {
    double sum = 0;
    if (const auto factor = cholesky_factor(read_matrix(call.input(0), i)))
      for (int64_t k = 0; k < factor->rows; ++k)
        sum += 2 * std::log(factor->values[static_cast<size_t>(k * factor->columns + k)]);
    else
      sum = std::numeric_limits<double>::quiet_NaN();
    write_part(call.output(0), i, {sum});
  }
}

/// L^-T P L^-1, made symmetric, where P is the lower part of L^T dL with half of its diagonal (Murray 2016).
void cholesky_gradient(GradContext& c) {
  const Tensor& factor = c.output();
  const TriangularSolveDescriptor by_transposed{.lower = true, .transpose = true};
  const Tensor part = with_half_diagonal(lower_part(matmul(factor, c.grad(), {true, false})));
  const Tensor left = dispatch(kTriangularSolve, by_transposed, {&factor, &part}), right = transposed(left);
  const Tensor whole = dispatch(kTriangularSolve, by_transposed, {&factor, &right});
  c.set(0, (whole + transposed(whole)) * 0.5);
}

/// With M the result and G its gradient: -M (G + G^T) M L of the lower, -U M (G + G^T) M of the upper factor.
void cholesky_inverse_gradient(GradContext& c) {
  const Tensor& inverse = c.output();
  const Tensor inner = matmul(matmul(inverse, c.grad() + transposed(c.grad())), inverse);
  if (c.descriptor<CholeskyInverseDescriptor>().upper)
    c.set(0, -upper_part(matmul(upper_part(c.input(0)), inner)));
  else
    c.set(0, -lower_part(matmul(inner, lower_part(c.input(0)))));
}

void logdet_gradient(GradContext& c) {
  const Tensor factor = apply(kCholesky, c.input(0), CholeskyDescriptor{.nan_where_not_definite = true});
  c.set(0, expand_dims(c.grad(), {-2, -1}) * cholesky_inverse(factor));
}

}  // namespace

const OpDef kCholesky = {.name = "cholesky",
                         .infer = infer_square,
                         .gradient = cholesky_gradient,
                         .keep_outputs = keep(0),
                         .reference = cholesky_reference,
                         .twice_differentiable = true};
const OpDef kCholeskyInverse = {.name = "cholesky_inverse",
                                .infer = infer_square,
                                .gradient = cholesky_inverse_gradient,
                                .keep_inputs = keep(0),
                                .keep_outputs = keep(0),
                                .reference = cholesky_inverse_reference,
                                .twice_differentiable = true};
const OpDef kLogdet = {.name = "logdet",
                       .infer = infer_logdet,
                       .gradient = logdet_gradient,
                       .keep_inputs = keep(0),
                       .reference = logdet_reference,
                       .twice_differentiable = true};

Tensor cholesky(const Tensor& x, bool upper) {
  const Tensor factor = apply(kCholesky, real(x), CholeskyDescriptor{});
  return upper ? transposed(factor) : factor;
}

Tensor cholesky_inverse(const Tensor& x, bool upper) {
  return apply(kCholeskyInverse, real(x), CholeskyInverseDescriptor{upper});
}

Tensor logdet(const Tensor& x) { return apply(kLogdet, real(x)); }

}  // namespace nyala::ops
