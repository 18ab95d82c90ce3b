#include <gtest/gtest.h>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/shape/digitize.h>
#include <nyala/tests/conformance/ops/op_checks.h>

namespace nyala::testing {
namespace {

TEST(Digitize, BoundariesBelongToTheBinAbove) {
  const Tensor edges = tensor_of({-1, 0, 0.5, 2}, {4});
  const Tensor bins = ops::digitize(tensor_of({-3, -1, -0.5, 0, 0.25, 0.5, 1.9, 2, 7}, {3, 3}), edges);
  EXPECT_EQ(bins.dtype(), DType::int32);
  EXPECT_EQ(values_of(bins), (std::vector<double>{0, 1, 1, 2, 2, 3, 3, 4, 4}));
  EXPECT_EQ(values_of(ops::digitize(tensor_of({1, 2}, {2}), tensor_of({}, {0}))),
            (std::vector<double>{0, 0}));
  EXPECT_EQ(ops::digitize(Tensor::zeros({0, 2}), edges).shape(), (Shape{0, 2}));
  expect_kernels_agree([&](const Tensors& t) { return ops::digitize(t[0], t[1]); },
                       {random_tensor({5, 9}, 1), edges});
}

TEST(Digitize, RefusesWhatDoesNotFit) {
  const Tensor x = tensor_of({1, 2}, {2});
  EXPECT_THROW(ops::digitize(x, tensor_of({1, 2}, {1, 2})), ShapeError);
  EXPECT_THROW(ops::digitize(x, Tensor::zeros({2}, DType::float64)), ShapeError);
}

}  // namespace
}  // namespace nyala::testing
