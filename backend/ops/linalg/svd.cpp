#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/dispatch.h>
#include <nyala/backend/ops/base/grad_context.h>
#include <nyala/backend/ops/base/unary_op.h>
#include <nyala/backend/ops/elementwise/rounding.h>
#include <nyala/backend/ops/linalg/matrix_batch.h>
#include <nyala/backend/ops/linalg/matrix_parts.h>
#include <nyala/backend/ops/linalg/svd.h>
#include <nyala/backend/ops/nn/matmul.h>
#include <nyala/backend/ops/shape/shape.h>

namespace nyala::ops {

using namespace nyala::detail;
using namespace nyala::ops::detail;

namespace {

void infer_svd(InferContext& c) {
  expect_matrices(c, 0);
  const Shape& x = c.shape(0);
  const int64_t rows = x[-2], columns = x[-1];
  if (rows == None || columns == None)
    c.fail("expected known sizes of the last two axes, received shape " + x.to_string());
  const bool full = c.descriptor<SvdDescriptor>().full_matrices;
  const int64_t inner = std::min(rows, columns);
  Shape values = batch_shape(x);
  values.append(inner);
  c.output(0, x.with(-1, full ? rows : inner), c.dtype(0));
  c.output(1, values, c.dtype(0));
  c.output(2, x.with(-2, full ? columns : inner), c.dtype(0));
}

void svd_reference(const KernelCall& call) {
  const bool full = call.descriptor<SvdDescriptor>().full_matrices;
  for (int64_t i = 0; i < count_matrices(call.input(0)); ++i) {
    const SingularValues found = singular_values(read_matrix(call.input(0), i), full);
    write_part(call.output(0), i, found.u.values);
    write_part(call.output(1), i, found.s);
    write_part(call.output(2), i, found.vh.values);
  }
}

/// Of a wide or square matrix: u is square, v may have more rows than columns that s is for.
struct WideSvd {
  Tensor u, s, v, du, ds, dv;
};

/// What leads through the part of v that is orthogonal to its first columns.
Tensor gradient_beside(const WideSvd& x, int64_t size, bool full) {
  const Tensor v = first_columns(x.v, size), dv = transposed(first_columns(x.dv, size));
  Tensor inner = dv - matmul(matmul(dv, v), v, {false, true});
  if (full) {
    const Tensor other = matmul(v, columns_from(x.dv, size), {true, false});
    inner = inner - matmul(other, columns_from(x.v, size), {false, true});
  }
  return matmul(x.u * expand_dims(safe_reciprocal(x.s), -2), inner);
}

/// Giles 2008, Townsend 2016.
Tensor gradient_of_wide(const WideSvd& x, bool full) {
  const int64_t size = x.s.shape()[-1];
  const Tensor v = first_columns(x.v, size), squares = square(x.s);
  const Tensor factors = safe_reciprocal(expand_dims(squares, -2) - expand_dims(squares, -1));
  const Tensor of_u = factors * matmul(x.u, x.du, {true, false});
  const Tensor of_v = factors * matmul(v, first_columns(x.dv, size), {true, false});
  const Tensor inner = diagonal_matrix(x.ds) + (of_u + transposed(of_u)) * expand_dims(x.s, -2) +
                       expand_dims(x.s, -1) * (of_v + transposed(of_v));
  const Tensor along = matmul(matmul(x.u, inner), v, {false, true});
  return x.v.shape()[-2] == size ? along : along + gradient_beside(x, size, full);
}

void svd_gradient(GradContext& c) {
  const Tensor &u = c.output(0), &s = c.output(1), &vh = c.output(2);
  const int64_t rows = u.shape()[-2], columns = vh.shape()[-1], size = std::min(rows, columns);
  const Tensor v = transposed(vh), ds = or_zeros(c.grad(1), s);
  if (!c.grad(0).defined() && !c.grad(2).defined()) {
    const Tensor scaled = first_columns(u, size) * expand_dims(ds, -2);
    return c.set(0, matmul(scaled, first_columns(v, size), {false, true}));
  }
  const bool full = c.descriptor<SvdDescriptor>().full_matrices;
  if (full && std::abs(rows - columns) > 1)
    throw InvalidArgumentError(
        "svd: expected full_matrices false for a gradient of u and vh of matrices of shape " +
        Shape{rows, columns}.to_string() + ", whose sizes differ by more than 1, received true");
  WideSvd x{u, s, v, or_zeros(c.grad(0), u), ds, transposed(or_zeros(c.grad(2), vh))};
  if (rows <= columns) return c.set(0, gradient_of_wide(x, full));
  std::swap(x.u, x.v);
  std::swap(x.du, x.dv);
  c.set(0, transposed(gradient_of_wide(x, full)));
}

}  // namespace

const OpDef kSvd = {.name = "svd",
                    .num_outputs = 3,
                    .infer = infer_svd,
                    .gradient = svd_gradient,
                    .keep_outputs = keep(0, 1, 2),
                    .reference = svd_reference,
                    .twice_differentiable = true};

Svd svd(const Tensor& x, bool full_matrices, bool compute_uv) {
  const Tensor values = real(x);
  const Tensor* const inputs[] = {&values};
  std::array<Tensor, 3> outputs;
  dispatch(kSvd, SvdDescriptor{full_matrices && compute_uv}, inputs, outputs);
  if (!compute_uv) return {{}, outputs[1], {}};
  return {outputs[0], outputs[1], outputs[2]};
}

}  // namespace nyala::ops
