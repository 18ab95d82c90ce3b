#include <Eigen/Dense>
#include <gtest/gtest.h>

#include <cmath>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/dispatch.h>
#include <nyala/backend/ops/nn/dense.h>
#include <nyala/tests/conformance/ops/op_checks.h>

namespace nyala::testing {
namespace {

using ops::Activation;

OpFunction dense_with(Activation activation) {
  return [activation](const Tensors& t) {
    return ops::dense(t[0], t[1], t.size() > 2 ? t[2] : Tensor(), activation);
  };
}

Tensors inputs(const Shape& x, int64_t units, bool bias = true) {
  Tensors t{random_tensor(x, 1), random_tensor({x.back(), units}, 2)};
  if (bias) t.push_back(random_tensor({units}, 3));
  return t;
}

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

Matrix matrix(const Tensor& t, int64_t rows, int64_t columns) {
  const std::vector<double> values = values_of(t);
  return Eigen::Map<const Matrix>(values.data(), rows, columns);
}

TEST(Dense, EqualsTheMatrixProduct) {
  for (const auto& [rows, in, units] :
       {std::array<int64_t, 3>{5, 7, 3}, {1, 1, 1}, {64, 120, 84}, {256, 400, 120}}) {
    const Tensors t = inputs({rows, in}, units);
    Matrix expected = matrix(t[0], rows, in) * matrix(t[1], in, units);
    expected.rowwise() += matrix(t[2], 1, units).row(0);
    const std::vector<double> values(expected.data(), expected.data() + expected.size());
    expect_close(dense_with(Activation::linear)(t), tensor_of(values, {rows, units}), {1e-5, 1e-4});
  }
}

TEST(Dense, GradientsAreThoseOfDifferences) {
  for (const Activation a :
       {Activation::linear, Activation::sigmoid, Activation::tanh, Activation::relu, Activation::relu6}) {
    expect_gradients(dense_with(a), inputs({3, 4}, 5));
    expect_gradients(dense_with(a), inputs({2, 3, 2}, 1, false));
  }
}

/// Slopes come from a result that was rounded: of tanh and sigmoid close to 1, of relu6 close to 6, 16 bits
/// tell nothing.
Tolerance tolerance_with(Activation a) {
  const bool saturates = a != Activation::linear && a != Activation::relu;
  return {.relative = 1e-4, .absolute = 1e-4, .half = !saturates};
}

TEST(Dense, KernelsAgree) {
  for (const Activation a :
       {Activation::linear, Activation::sigmoid, Activation::tanh, Activation::relu, Activation::relu6})
    for (const Shape& x :
         {Shape{0, 3}, Shape{1, 1}, Shape{3, 17}, Shape{2, 3, 16}, Shape{33, 65}, Shape{128, 84}})
      for (const int64_t units : {1, 10, 33}) {
        expect_kernels_agree(dense_with(a), inputs(x, units), tolerance_with(a));
        expect_kernels_agree(dense_with(a), inputs(x, units, false), tolerance_with(a));
      }
}

TEST(Dense, GradientOpsAgreeKernelByKernel) {
  for (const auto& [rows, in, units] : {std::array<int64_t, 3>{1, 1, 1},
                                        {1, 131, 77},
                                        {4, 120, 84},
                                        {3, 9, 160},
                                        {7, 17, 5},
                                        {128, 400, 120},
                                        {256, 84, 10}}) {
    const Tensor x = random_tensor({rows, in}, 1), k = random_tensor({in, units}, 2),
                 dz = random_tensor({rows, units}, 3);
    expect_kernels_agree(
        [](const Tensors& t) {
          return dispatch(ops::kDense, ops::ActivationDescriptor{}, {&t[0], &t[1]});
        },
        {x, k}, {1e-4, 1e-4});
    expect_kernels_agree(
        [](const Tensors& t) {
          return dispatch(ops::kDenseBackwardInput, NoDescriptor{}, {&t[0], &t[1]});
        },
        {dz, k}, {1e-4, 1e-4});
    expect_kernels_agree(
        [](const Tensors& t) {
          return dispatch(ops::kDenseBackwardKernel, NoDescriptor{}, {&t[0], &t[1]});
        },
        {x, dz}, {1e-4, 2e-4});
  }
}

TEST(BiasGradient, KernelsAgree) {
  for (const Shape& shape :
       {Shape{0, 3}, Shape{1, 1}, Shape{7, 5}, Shape{3, 2, 2, 20}, Shape{1000, 10}, Shape{33, 64}})
    expect_kernels_agree(
        [](const Tensors& t) { return dispatch(ops::kBiasGradient, NoDescriptor{}, {&t[0]}); },
        {random_tensor(shape, 4)}, {1e-5, 2e-5});
}

TEST(ActivationBackward, KernelsAgree) {
  for (const Activation a : {Activation::sigmoid, Activation::tanh, Activation::relu, Activation::relu6})
    for (const Shape& shape : {Shape{0, 3}, Shape{1}, Shape{7, 5}, Shape{3, 2, 2, 20}, Shape{1003}})
      expect_kernels_agree([a](const Tensors& t) { return ops::activation_backward(t[0], t[1], a); },
                           {random_tensor(shape, 4), random_tensor(shape, 5, -1.0, 1.0)});
}

TEST(Dense, PassesNaNOn) {
  Tensors t = inputs({2, 3}, 4);
  t[0].data<float>()[4] = std::numeric_limits<float>::quiet_NaN();
  const std::vector<double> y = values_of(dense_with(Activation::linear)(t));
  for (size_t i = 0; i < 4; ++i) EXPECT_FALSE(std::isnan(y[i]));
  for (size_t i = 4; i < 8; ++i) EXPECT_TRUE(std::isnan(y[i]));
}

TEST(Dense, SeesChangedWeights) {
  const Tensors t = inputs({4, 8}, 4);
  const Tensor before = dense_with(Activation::linear)(t).clone();
  const Tensor doubled = random_tensor({8, 4}, 9);
  t[1].copy_from(doubled);
  const Tensors fresh{t[0], doubled, t[2]};
  expect_close(dense_with(Activation::linear)(t), dense_with(Activation::linear)(fresh));
}

TEST(Dense, KnowsItsShapeWithoutValues) {
  const Tensor y = ops::dense(Tensor::abstract({None, 7, 5}, DType::float32), random_tensor({5, 2}, 1));
  EXPECT_TRUE(y.is_abstract());
  EXPECT_EQ(y.shape(), (Shape{None, 7, 2}));
}

TEST(Dense, RefusesWhatDoesNotFit) {
  EXPECT_THROW(ops::dense(random_tensor({2, 3}, 1), random_tensor({4, 5}, 1)), ShapeError);
  EXPECT_THROW(ops::dense(random_tensor({2, 3}, 1), random_tensor({3, 5}, 1), random_tensor({4}, 1)),
               ShapeError);
  EXPECT_THROW(ops::dense(random_tensor({2, 3}, 1), random_tensor({3, 5}, 1, 0, 1, DType::float64)),
               ShapeError);
  EXPECT_THROW(ops::dense(Tensor::zeros({2, 3}, DType::int32), Tensor::zeros({3, 5}, DType::int32)),
               ShapeError);
}

}  // namespace
}  // namespace nyala::testing
