#include <gtest/gtest.h>

#include <cmath>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/nn/layer_normalization.h>
#include <nyala/tests/conformance/ops/op_checks.h>

namespace nyala::testing {
namespace {

Shape last_axes(const Shape& shape, int axes) { return shape.slice(shape.rank() - axes, shape.rank()); }

/// x with gamma and beta for its last axes.
Tensors inputs_of(const Shape& shape, int axes) {
  return {random_tensor(shape, 1), random_tensor(last_axes(shape, axes), 2, 0.5, 1.5),
          random_tensor(last_axes(shape, axes), 3)};
}

TEST(LayerNormalization, EqualsKeras) {
  const Tensor x = tensor_of({1, 2, 4, -1, 0, 3}, {2, 3});
  const Tensor gamma = tensor_of({1, 2, 0.5}, {3}), beta = tensor_of({0, 1, -1}, {3});
  // mean 7/3, variance 14/9; mean 2/3, variance 26/9
  const double a = 1 / std::sqrt(14.0 / 9 + 1e-3), b = 1 / std::sqrt(26.0 / 9 + 1e-3);
  expect_close(ops::layer_normalization(x, gamma, beta),
               tensor_of({-4.0 / 3 * a, -2.0 / 3 * a + 1, 2.5 / 3 * a - 1, -5.0 / 3 * b, -4.0 / 3 * b + 1,
                          3.5 / 3 * b - 1},
                         {2, 3}));
  const double c = 1 / std::sqrt(7.0 + 0.5);
  expect_close(ops::rms_normalization(tensor_of({1, 2, 4}, {3}), gamma, {.epsilon = 0.5}),
               tensor_of({c, 4 * c, 2 * c}, {3}));
}

TEST(LayerNormalization, GradientsAreThoseOfDifferences) {
  for (const int axes : {1, 2, 3}) {
    const ops::LayerNormalizationOptions options{.epsilon = 1e-3, .axes = axes};
    const Tensors x = inputs_of({2, 3, 4}, axes);
    expect_gradients([&](const Tensors& t) { return ops::layer_normalization(t[0], t[1], t[2], options); },
                     x);
    expect_gradients([&](const Tensors& t) { return ops::layer_normalization(t[0], {}, t[1], options); }, x);
    expect_gradients([&](const Tensors& t) { return ops::layer_normalization(t[0], {}, {}, options); },
                     {x[0]});
    expect_gradients([&](const Tensors& t) { return ops::rms_normalization(t[0], t[1], options); }, x);
    expect_gradients([&](const Tensors& t) { return ops::rms_normalization(t[0], {}, options); }, {x[0]});
  }
}

TEST(LayerNormalization, KernelsAgree) {
  for (const Shape& shape :
       {Shape{0, 3}, Shape{1, 1}, Shape{5, 7}, Shape{3, 16}, Shape{2, 3, 33}, Shape{4, 64}, Shape{3, 5, 256},
        Shape{1030, 5}, Shape{2, 5000}, Shape{600, 130}}) {
    const Tolerance loose{2e-5, 2e-5};
    const Tensors x = inputs_of(shape, 1);
    expect_kernels_agree([](const Tensors& t) { return ops::layer_normalization(t[0], t[1], t[2]); }, x,
                         loose);
    expect_kernels_agree([](const Tensors& t) { return ops::layer_normalization(t[0], t[1], {}); }, x, loose);
    expect_kernels_agree([](const Tensors& t) { return ops::layer_normalization(t[0], {}, t[2]); }, x, loose);
    expect_kernels_agree([](const Tensors& t) { return ops::layer_normalization(t[0], {}, {}); }, x, loose);
    expect_kernels_agree([](const Tensors& t) { return ops::rms_normalization(t[0], t[1]); }, x, loose);
  }
  expect_kernels_agree(
      [](const Tensors& t) {
        return ops::layer_normalization(t[0], t[1], t[2], {.epsilon = 1e-5, .axes = 2});
      },
      inputs_of({4, 3, 9}, 2), {2e-5, 2e-5});
}

TEST(LayerNormalization, StandsALargeMean) {
  const Tensor x = tensor_of({1e6, 1e6 + 1, 1e6 + 2, 1e6 + 3}, {1, 4});
  const double scale = 1 / std::sqrt(1.25 + 1e-3);
  const Tensor expected = tensor_of({-1.5 * scale, -0.5 * scale, 0.5 * scale, 1.5 * scale}, {1, 4});
  expect_close(ops::layer_normalization(x, {}, {}), expected, {1e-4, 1e-4});
}

TEST(LayerNormalization, EqualValuesBecomeBeta) {
  const Tensor x = Tensor::full({2, 9}, 3.0), beta = random_tensor({9}, 1);
  const std::vector<double> y = values_of(ops::layer_normalization(x, {}, beta)), b = values_of(beta);
  for (size_t i = 0; i < y.size(); ++i) EXPECT_EQ(y[i], b[i % 9]);
}

TEST(LayerNormalization, RefusesWhatDoesNotFit) {
  const Tensor x = random_tensor({2, 3}, 1);
  EXPECT_THROW(ops::layer_normalization(x, random_tensor({2}, 1), {}), ShapeError);
  EXPECT_THROW(ops::layer_normalization(x, {}, random_tensor({1, 3}, 1)), ShapeError);
  EXPECT_THROW(ops::layer_normalization(x, {}, {}, {.axes = 3}), ShapeError);
  EXPECT_THROW(ops::layer_normalization(x, {}, {}, {.axes = 0}), ShapeError);
  EXPECT_THROW(ops::layer_normalization(Tensor::zeros({2, 3}, DType::int32), {}, {}), ShapeError);
  const Tensor open = Tensor::abstract({None, None, 3}, DType::float32);
  EXPECT_EQ(ops::layer_normalization(open, random_tensor({3}, 1), {}).shape(), open.shape());
}

}  // namespace
}  // namespace nyala::testing
