#include <gtest/gtest.h>

#include <cmath>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/nn/softmax.h>
#include <nyala/tests/conformance/ops/op_checks.h>

namespace nyala::testing {
namespace {

TEST(Softmax, EqualsKeras) {
  const Tensor x = tensor_of({.7, .2, .1, .0, .5, .5, .2, .2, .2, 1, 0, 0}, {4, 3});
  expect_close(ops::softmax(x, 0),
               tensor_of({0.28960537910461426, 0.23988929390907288, 0.22213175892829895, 0.14381377398967743,
                          0.3238166570663452, 0.331381618976593, 0.17565451562404633, 0.23988929390907288,
                          0.2454935610294342, 0.390926331281662, 0.19640471041202545, 0.20099309086799622},
                         {4, 3}));
  expect_close(ops::log_softmax(x),
               tensor_of({-0.7679495811462402, -1.2679495811462402, -1.3679494857788086, -1.4580200910568237,
                          -0.9580200910568237, -0.9580200910568237, -1.0986123085021973, -1.0986123085021973,
                          -1.0986123085021973, -0.5514446496963501, -1.55144464969635, -1.55144464969635},
                         {4, 3}));
}

TEST(Softmax, GradientsAreThoseOfDifferences) {
  for (const int axis : {-1, 0, 1}) {
    const Tensors x{random_tensor({2, 3, 4}, 1)};
    expect_gradients([axis](const Tensors& t) { return ops::softmax(t[0], axis); }, x);
    expect_gradients([axis](const Tensors& t) { return ops::log_softmax(t[0], axis); }, x);
  }
}

TEST(Softmax, KernelsAgree) {
  for (const Shape& shape :
       {Shape{0, 3}, Shape{1, 1}, Shape{5, 10}, Shape{3, 17}, Shape{4, 100}, Shape{2, 3, 1000}, Shape{7, 16}})
    for (const int axis : {-1, 0}) {
      expect_kernels_agree([axis](const Tensors& t) { return ops::softmax(t[0], axis); },
                           {random_tensor(shape, 1, -8, 8)});
      expect_kernels_agree([axis](const Tensors& t) { return ops::log_softmax(t[0], axis); },
                           {random_tensor(shape, 1, -8, 8)});
    }
}

TEST(Softmax, StandsLargeAndInfiniteValues) {
  const double inf = std::numeric_limits<double>::infinity();
  const Tensor x = tensor_of({1000, 999, -1000, -inf, 0, -inf, 88, 89, 90}, {3, 3});
  const std::vector<double> y = values_of(ops::softmax(x));
  EXPECT_NEAR(y[0], 1 / (1 + std::exp(-1.0)), 1e-6);
  EXPECT_EQ(y[2], 0.0);
  EXPECT_EQ(y[3], 0.0);
  EXPECT_EQ(y[4], 1.0);
  EXPECT_NEAR(y[6] + y[7] + y[8], 1.0, 1e-6);
}

TEST(Softmax, RefusesWhatDoesNotFit) {
  EXPECT_THROW(ops::softmax(random_tensor({2, 3}, 1), 2), ShapeError);
  EXPECT_THROW(ops::softmax(Tensor::zeros({2, 3}, DType::int32)), ShapeError);
  EXPECT_EQ(ops::softmax(Tensor::abstract({None, 3}, DType::float32)).shape(), (Shape{None, 3}));
}

}  // namespace
}  // namespace nyala::testing
