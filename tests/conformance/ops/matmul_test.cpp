#include <Eigen/Dense>
#include <gmock/gmock.h>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/nn/matmul.h>
#include <nyala/backend/ops/shape/shape.h>
#include <nyala/tests/conformance/ops/op_checks.h>

namespace nyala::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;
using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

Matrix matrix(const Tensor& t, int64_t index) {
  const std::vector<double> values = values_of(t);
  const int64_t rows = t.shape()[-2], columns = t.shape()[-1];
  return Eigen::Map<const Matrix>(values.data() + index * rows * columns, rows, columns);
}

OpFunction product(bool transpose_a = false, bool transpose_b = false) {
  return [=](const Tensors& t) { return ops::matmul(t[0], t[1], {transpose_a, transpose_b}); };
}

Tensors inputs(const Shape& a, const Shape& b) { return {random_tensor(a, 1), random_tensor(b, 2)}; }

TEST(Matmul, EqualsTheProductOfMatrices) {
  for (const auto& [m, k, n] : {std::array<int64_t, 3>{2, 3, 4}, {1, 1, 1}, {65, 33, 17}, {128, 256, 64}}) {
    const Tensors t = inputs({m, k}, {k, n});
    const Matrix expected = matrix(t[0], 0) * matrix(t[1], 0);
    const std::vector<double> values(expected.data(), expected.data() + expected.size());
    expect_close(ops::matmul(t[0], t[1]), tensor_of(values, {m, n}), {1e-5, 1e-4});
  }
}

TEST(Matmul, BroadcastsBatches) {
  const Tensors t = inputs({2, 1, 3, 4}, {5, 4, 2});
  const Tensor y = ops::matmul(t[0], t[1]);
  ASSERT_EQ(y.shape(), (Shape{2, 5, 3, 2}));
  for (int64_t i = 0; i < 2; ++i)
    for (int64_t j = 0; j < 5; ++j)
      EXPECT_LT((matrix(y, i * 5 + j) - matrix(t[0], i) * matrix(t[1], j)).cwiseAbs().maxCoeff(), 1e-5);
}

TEST(Matmul, Vectors) {
  const Tensor row = tensor_of({1, 2}, {2}), m = tensor_of({1, 2, 3, 4, 5, 6}, {2, 3});
  expect_close(ops::matmul(row, m), tensor_of({9, 12, 15}, {3}));
  expect_close(ops::matmul(m, tensor_of({1, 0, 2}, {3})), tensor_of({7, 16}, {2}));
  expect_close(ops::matmul(row, row), tensor_of({5}, {}));
  EXPECT_EQ(ops::matmul(random_tensor({4, 2, 3}, 1), random_tensor({3}, 2)).shape(), (Shape{4, 2}));
  expect_close(ops::matmul(tensor_of({1, 2}, {1, 2}, DType::int32), tensor_of({3, 4}, {2, 1}, DType::int32)),
               tensor_of({11}, {1, 1}, DType::int32));
  expect_close(ops::matmul(tensor_of({1, 2}, {2}, DType::int32), tensor_of({0.5, 1}, {2})),
               tensor_of({2.5}, {}));
}

TEST(Matmul, EmptySums) {
  expect_close(ops::matmul(random_tensor({2, 0}, 1), random_tensor({0, 2}, 1)),
               tensor_of({0, 0, 0, 0}, {2, 2}));
  EXPECT_EQ(ops::matmul(random_tensor({0, 3}, 1), random_tensor({3, 2}, 1)).shape(), (Shape{0, 2}));
}

TEST(Matmul, ShapesAndErrors) {
  const Tensor x = Tensor::abstract({None, 7, 3}, DType::float32),
               w = Tensor::abstract({3, 5}, DType::float32);
  EXPECT_EQ(ops::matmul(x, w).shape(), (Shape{None, 7, 5}));
  EXPECT_EQ(ops::matmul(x, x, {false, true}).shape(), (Shape{None, 7, 7}));
  EXPECT_THAT(
      [] {
        ops::matmul(random_tensor({2, 3}, 1), random_tensor({2, 3}, 1));
      },
      ThrowsMessage<ShapeError>(HasSubstr("received (2, 3) and (2, 3)")));
  EXPECT_THROW(ops::matmul(random_tensor({}, 1), random_tensor({2, 3}, 1)), ShapeError);
  EXPECT_THROW(ops::matmul(random_tensor({2, 2, 3}, 1), random_tensor({3, 3, 2}, 1)), ShapeError);
}

/// Shapes of op(a) and op(b) that are stored transposed where the flag says so.
Tensors flagged(Shape a, Shape b, bool transpose_a, bool transpose_b) {
  if (transpose_a) a = a.with(-1, a[-2]).with(-2, a[-1]);
  if (transpose_b) b = b.with(-1, b[-2]).with(-2, b[-1]);
  return inputs(a, b);
}

TEST(Matmul, GradientsAndKernels) {
  const std::vector<std::pair<Shape, Shape>> small{{{2, 3}, {3, 4}},       {{1, 1}, {1, 1}},
                                                   {{2, 2, 3}, {2, 3, 1}}, {{2, 2, 3}, {3, 2}},
                                                   {{2, 3}, {2, 3, 2}},    {{2, 1, 2, 3}, {1, 2, 3, 2}}};
  const std::vector<std::pair<Shape, Shape>> large{{{65, 33}, {33, 17}},       {{4, 33, 40}, {4, 40, 9}},
                                                   {{3, 33, 40}, {40, 9}},     {{33, 40}, {3, 40, 9}},
                                                   {{2, 1, 9, 8}, {3, 8, 33}}, {{0, 9, 8}, {8, 3}}};
  for (const bool ta : {false, true})
    for (const bool tb : {false, true}) {
      for (const auto& [a, b] : small) expect_gradients(product(ta, tb), flagged(a, b, ta, tb));
      for (const auto& [a, b] : large)
        expect_kernels_agree(product(ta, tb), flagged(a, b, ta, tb), {1e-4, 1e-4});
    }
  const OpFunction vectors = [](const Tensors& t) { return ops::matmul(t[0], t[1]); };
  expect_gradients(vectors, inputs({3}, {2, 3, 2}));
  expect_gradients(vectors, inputs({2, 3}, {3}));
}

TEST(Matmul, RunsOnOneDnn) {
  const auto kernels = kernels_that_run(product(), inputs({4, 64, 64}, {64, 64}));
  EXPECT_THAT(kernels, ::testing::Contains("matmul: onednn"));
  EXPECT_THAT(kernels, ::testing::Not(::testing::Contains("matmul: reference")));
}

}  // namespace
}  // namespace nyala::testing
