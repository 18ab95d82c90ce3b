#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include <nyala/backend/autograd/differentiate.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/all.h>
#include <nyala/tests/conformance/ops/op_checks.h>

namespace nyala::testing {
namespace linalg_test {

/// Matrices far from singular ones, whose eigenvalues lie apart.
Tensor regular(const Shape& shape, uint64_t seed) {
  std::vector<double> steps;
  for (int64_t i = 0; i < shape.back(); ++i) steps.push_back(4 + 3 * static_cast<double>(i));
  return random_tensor(shape, seed, -1, 1) + ops::eye(shape.back()) * tensor_of(steps, {shape.back()});
}

Tensor definite(const Tensor& x) { return ops::matmul(x, x, {false, true}); }

/// Their gradients are of the triangle that is read, which central differences of the other one are not: the
/// functions here see matrices of which both hang together.
Tensor symmetric(const Tensor& x) { return x + ops::swapaxes(x, -2, -1); }

Tensor cholesky(const Tensors& x) { return ops::cholesky(definite(x[0])); }
Tensor cholesky_inverse(const Tensors& x) { return ops::cholesky_inverse(x[0]); }
Tensor upper_cholesky_inverse(const Tensors& x) { return ops::cholesky_inverse(x[0], true); }
Tensor logdet(const Tensors& x) { return ops::logdet(definite(x[0])); }
Tensor det(const Tensors& x) { return ops::det(x[0]); }
Tensor logabsdet(const Tensors& x) { return ops::slogdet(x[0]).logabsdet; }
Tensor inv(const Tensors& x) { return ops::inv(x[0]); }
Tensor solve(const Tensors& x) { return ops::solve(x[0], x[1]); }
Tensor solve_upper(const Tensors& x) { return ops::solve_triangular(x[0], x[1]); }
Tensor solve_lower(const Tensors& x) { return ops::solve_triangular(x[0], x[1], true); }
Tensor eigenvalues(const Tensors& x) { return ops::eigh(symmetric(x[0])).eigenvalues; }
Tensor eigenvectors(const Tensors& x) {
  const ops::Eigh y = ops::eigh(symmetric(x[0]));
  return ops::matmul(y.eigenvectors * ops::expand_dims(ops::sin(y.eigenvalues), -2), y.eigenvectors,
                     {false, true});
}
Tensor qr_product(const Tensors& x) {
  const ops::Qr y = ops::qr(x[0]);
  return ops::matmul(y.q, ops::tanh(y.r));
}
Tensor svd_product(const Tensors& x) {
  const ops::Svd y = ops::svd(x[0], false);
  return ops::matmul(y.u * ops::expand_dims(ops::sin(y.s), -2), y.vh);
}
Tensor singular_values(const Tensors& x) { return ops::svd(x[0], true, false).s; }

TEST(Linalg, GradientsAreCentralDifferences) {
  const Tensor x = regular({2, 3, 3}, 1), right = random_tensor({2, 3, 2}, 2);
  for (const auto f : {cholesky, cholesky_inverse, upper_cholesky_inverse, logdet, det, logabsdet, inv,
                       eigenvalues, eigenvectors, qr_product, svd_product, singular_values})
    expect_gradients(f, {x});
  for (const auto f : {solve, solve_upper, solve_lower}) {
    expect_gradients(f, {x, right});
    expect_gradients(f, {x[0], right});
    expect_gradients(f, {x, random_tensor({1, 3, 2}, 13)});
    expect_gradients(f, {x, random_tensor({2, 3}, 3)});
  }
  for (const Shape& shape : {Shape{2, 3}, Shape{4, 2}, Shape{2, 5, 3}}) {
    expect_gradients(qr_product, {random_tensor(shape, 4)});
    expect_gradients(svd_product, {random_tensor(shape, 5)});
    expect_gradients([](const Tensors& t) { return ops::pinv(t[0]); }, {random_tensor(shape, 6)});
  }
}

TEST(Linalg, KernelsAgree) {
  const Tensor x = regular({3, 4, 4}, 7), right = random_tensor({3, 4, 2}, 8);
  const Tolerance tolerance{.relative = 2e-5, .absolute = 1e-5, .half_values = 4, .half_gradients = 64};
  for (const auto f : {cholesky_inverse, upper_cholesky_inverse, det, logabsdet, inv, singular_values})
    expect_kernels_agree(f, {x}, tolerance);
  for (const auto f : {solve, solve_upper, solve_lower}) expect_kernels_agree(f, {x, right}, tolerance);
  const Tolerance wide{.relative = 2e-5, .absolute = 1e-5, .half = false};
  for (const auto f : {cholesky, logdet, eigenvalues, eigenvectors, qr_product, svd_product})
    expect_kernels_agree(f, {x}, wide);
}

TEST(Linalg, HalvesAreRoundedOnce) {
  const Tensor x = regular({3, 3}, 9);
  for (const auto f : {+[](const Tensors& t) { return ops::norm(t[0], 3, 1); },
                       +[](const Tensors& t) { return ops::norm(t[0], "nuc"); },
                       +[](const Tensors& t) { return ops::pinv(t[0]); }})
    expect_half(f, {x}, {.half_values = 1.01, .half_gradients = 4});
  EXPECT_EQ(ops::cholesky(ops::cast(definite(x), DType::bfloat16)).dtype(), DType::bfloat16);
}

TEST(Linalg, DecompositionsOfFloat64GiveTheMatrixBack) {
  const Tensor x = random_tensor({2, 5, 3}, 10, -2, 2, DType::float64);
  const Tolerance close{1e-12, 1e-12};
  const ops::Qr q = ops::qr(x, "complete");
  expect_close(ops::matmul(q.q, q.r), x, close);
  const ops::Svd s = ops::svd(x, false);
  expect_close(ops::matmul(s.u * ops::expand_dims(s.s, -2), s.vh), x, close);
  const Tensor square = ops::matmul(x, x, {true, false});
  const Tensor factor = ops::cholesky(square);
  expect_close(ops::matmul(factor, factor, {false, true}), square, close);
  expect_close(ops::matmul(ops::inv(square), square),
               ops::broadcast_to(ops::eye(3, {.dtype = DType::float64}), {2, 3, 3}), {1e-10, 1e-10});
  const ops::LuFactor lu = ops::lu_factor(square);
  EXPECT_EQ(lu.pivots.shape(), (Shape{2, 3}));
  EXPECT_EQ(lu.lu.dtype(), DType::float64);
  EXPECT_EQ(ops::matrix_rank(ops::matmul(x, x, {false, true})).to_vector<int32_t>(),
            (std::vector<int32_t>{3, 3}));
}

/// The gradient of the sum of f's result, recorded where x is tracked.
Tensor slope(const OpFunction& f, const Tensor& x) {
  Tape own;
  const bool is_tracked = x.tape() != nullptr;
  const Tensor source = is_tracked ? x : own.track(x);
  Tape& tape = *source.tape();
  const Tensor y = ops::sum(f({source}));
  return nyala::detail::differentiate(
      tape, y,
      {.sources = {source.value_id()}, .ranges = {{0, tape.entries().size()}}, .record = is_tracked})[0];
}

void expect_second_derivatives(const OpFunction& f, const Tensor& x) {
  const OpFunction bent = [&](const Tensors& t) { return ops::sin(f(t)); };
  expect_gradients([&](const Tensors& t) { return ops::square(slope(bent, t[0])); }, {x}, {1e-5, 1e-5});
}

TEST(Linalg, SecondDerivatives) {
  const Tensor x = regular({3, 3}, 11);
  for (const auto f :
       {cholesky, cholesky_inverse, logdet, det, logabsdet, inv, eigenvalues, qr_product, singular_values})
    expect_second_derivatives(f, x);
  expect_second_derivatives([&](const Tensors& t) { return ops::solve(t[0], x[0]); }, x);
  expect_second_derivatives([&](const Tensors& t) { return ops::solve_triangular(t[0], x[0]); }, x);
}

TEST(Linalg, SingularMatricesAsInTensorFlow) {
  const Tensor zeros = Tensor::zeros({2, 2});
  const ops::Slogdet found = ops::slogdet(zeros);
  EXPECT_EQ(found.sign.item(), 0.0);
  EXPECT_EQ(found.logabsdet.item(), -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(ops::logdet(zeros).item()));
  EXPECT_TRUE(std::isnan(ops::svd(zeros / 0.0).s.to_vector<float>()[0]));
  EXPECT_THROW(slope(det, zeros), NumericError);
}

TEST(Linalg, GradientsThatTensorFlowLacksAreErrors) {
  const Tensor x = random_tensor({4, 2}, 12);
  EXPECT_THROW(slope([](const Tensors& t) { return ops::qr(t[0], "complete").q; }, x), InvalidArgumentError);
  EXPECT_THROW(slope([](const Tensors& t) { return ops::svd(t[0]).u; }, x), InvalidArgumentError);
  EXPECT_TRUE(slope([](const Tensors& t) { return ops::svd(t[0]).s; }, x).defined());
}

}  // namespace linalg_test
}  // namespace nyala::testing
