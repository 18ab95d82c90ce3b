#include <array>
#include <string>

#include <nyala/backend/ops/base/broadcasting.h>
#include <nyala/backend/ops/base/dispatch.h>
#include <nyala/backend/ops/base/grad_context.h>
#include <nyala/backend/ops/base/unary_op.h>
#include <nyala/backend/ops/linalg/matrix_batch.h>
#include <nyala/backend/ops/linalg/matrix_parts.h>
#include <nyala/backend/ops/linalg/solve.h>
#include <nyala/backend/ops/nn/matmul.h>
#include <nyala/backend/ops/shape/shape.h>

namespace nyala::ops {

using namespace nyala::detail;
using namespace nyala::ops::detail;

namespace {

constexpr const char* kExpectsRegular = "expected matrices that can be inverted, received a singular one";

void infer_inv(InferContext& c) {
  expect_square_matrices(c, 0);
  c.output(0, c.shape(0), c.dtype(0));
}

void infer_lu_factor(InferContext& c) {
  infer_inv(c);
  c.output(1, c.shape(0).slice(0, c.shape(0).rank() - 1), DType::int32);
}

void infer_solve(InferContext& c) {
  const Shape &a = c.shape(0), &b = c.shape(1);
  expect_square_matrices(c, 0);
  expect_matrices(c, 1);
  if (c.dtype(0) != c.dtype(1))
    c.fail("expected two inputs of one dtype, received " + std::string(name_of(c.dtype(0))) + " and " +
           std::string(name_of(c.dtype(1))));
  if (a[-1] != b[-2] && a[-1] != None && b[-2] != None)
    c.fail("expected as many rows of b as of a, received a of shape " + a.to_string() + " and b of shape " +
           b.to_string());
  Shape out = broadcast(batch_shape(a), batch_shape(b), c.name());
  out.append(b[-2]);
  out.append(b[-1]);
  c.output(0, out, c.dtype(0));
}

void inv_reference(const KernelCall& call) {
  for (int64_t i = 0; i < count_matrices(call.input(0)); ++i) {
    const auto inverse = inverse_of(read_matrix(call.input(0), i));
    if (!inverse) fail_at_values(call, kExpectsRegular);
    write_part(call.output(0), i, inverse->values);
  }
}

void lu_factor_reference(const KernelCall& call) {
  for (int64_t i = 0; i < count_matrices(call.input(0)); ++i) {
    const auto found = factor_lower_upper(read_matrix(call.input(0), i));
    if (!found) fail_at_values(call, kExpectsRegular);
    write_part(call.output(0), i, found->factors.values);
    write_part(call.output(1), i, found->pivots);
  }
}

/// Calls body(output, matrix of a, matrix of b) for each system.
template <class Body>
void for_each_system(const KernelCall& call, Body&& body) {
  const Tensor &a = call.input(0), &b = call.input(1);
  for_each_broadcast(
      batch_shape(a.shape()), batch_shape(b.shape()), batch_shape(call.output(0).shape()),
      [&](int64_t i, int64_t ia, int64_t ib) { body(i, read_matrix(a, ia), read_matrix(b, ib)); });
}

void solve_reference(const KernelCall& call) {
  const bool transpose = call.descriptor<SolveDescriptor>().transpose;
  for_each_system(call, [&](int64_t i, const WideMatrix& a, const WideMatrix& b) {
    const auto x = solve_square(a, b, transpose);
    if (!x) fail_at_values(call, kExpectsRegular);
    write_part(call.output(0), i, x->values);
  });
}

void triangular_solve_reference(const KernelCall& call) {
  const auto [lower, transpose] = call.descriptor<TriangularSolveDescriptor>();
  for_each_system(call, [&](int64_t i, const WideMatrix& a, const WideMatrix& b) {
    write_part(call.output(0), i, solve_triangle(a, b, {lower, transpose}).values);
  });
}

void inv_gradient(GradContext& c) {
  const Tensor& inverse = c.output();
  c.set(0, -matmul(inverse, matmul(c.grad(), inverse, {false, true}), {true, false}));
}

/// The gradient of b is z with A^T z = dx, that of A is -z x^T, or -x z^T where A is a transposed.
Tensor gradient_of_matrix(GradContext& c, const Tensor& z, bool transpose) {
  const Tensor& x = c.output();
  return -(transpose ? matmul(x, z, {false, true}) : matmul(z, x, {false, true}));
}

void solve_gradient(GradContext& c) {
  const bool transpose = c.descriptor<SolveDescriptor>().transpose;
  const Tensor z = dispatch(kSolve, SolveDescriptor{!transpose}, {&c.input(0), &c.grad()});
  if (c.needs(1)) c.set(1, sum_to_shape(z, c.input(1).shape()));
  if (c.needs(0)) c.set(0, sum_to_shape(gradient_of_matrix(c, z, transpose), c.input(0).shape()));
}

void triangular_solve_gradient(GradContext& c) {
  auto d = c.descriptor<TriangularSolveDescriptor>();
  const bool transpose = d.transpose;
  d.transpose = !transpose;
  const Tensor z = dispatch(kTriangularSolve, d, {&c.input(0), &c.grad()});
  if (c.needs(1)) c.set(1, sum_to_shape(z, c.input(1).shape()));
  if (!c.needs(0)) return;
  const Tensor whole = sum_to_shape(gradient_of_matrix(c, z, transpose), c.input(0).shape());
  c.set(0, d.lower ? lower_part(whole) : upper_part(whole));
}

/// `op` on what a user gives: promoted, with b as a matrix.
Tensor solve_with(const OpDef& op, const Descriptor& descriptor, const Tensor& a, const Tensor& b) {
  const DType dtype = promote(real(a).dtype(), real(b).dtype());
  const bool is_vector = b.rank() == a.rank() - 1;
  const Tensor left = cast(a, dtype), given = cast(b, dtype);
  const Tensor right = is_vector && b.rank() > 0 ? expand_dims(given, -1) : given;
  const Tensor x = dispatch(op, descriptor, {&left, &right});
  return is_vector ? squeeze(x, -1) : x;
}

}  // namespace

const OpDef kInv = {.name = "inv",
                    .infer = infer_inv,
                    .gradient = inv_gradient,
                    .keep_outputs = keep(0),
                    .reference = inv_reference,
                    .twice_differentiable = true};
const OpDef kLuFactor = {
    .name = "lu_factor", .num_outputs = 2, .infer = infer_lu_factor, .reference = lu_factor_reference};
const OpDef kSolve = {.name = "solve",
                      .infer = infer_solve,
                      .gradient = solve_gradient,
                      .keep_inputs = keep(0),
                      .keep_outputs = keep(0),
                      .reference = solve_reference,
                      .twice_differentiable = true};
const OpDef kTriangularSolve = {.name = "solve_triangular",
                                .infer = infer_solve,
                                .gradient = triangular_solve_gradient,
                                .keep_inputs = keep(0),
                                .keep_outputs = keep(0),
                                .reference = triangular_solve_reference,
                                .twice_differentiable = true};

Tensor inv(const Tensor& x) { return apply(kInv, real(x)); }

Tensor solve(const Tensor& a, const Tensor& b) { return solve_with(kSolve, SolveDescriptor{}, a, b); }

Tensor solve_triangular(const Tensor& a, const Tensor& b, bool lower) {
  return solve_with(kTriangularSolve, TriangularSolveDescriptor{lower, false}, a, b);
}

LuFactor lu_factor(const Tensor& x) {
  const Tensor values = real(x);
  const Tensor* const inputs[] = {&values};
  std::array<Tensor, 2> outputs;
  dispatch(kLuFactor, NoDescriptor{}, inputs, outputs);
  return {outputs[0], outputs[1]};
}

}  // namespace nyala::ops
