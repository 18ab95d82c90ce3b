#include <gtest/gtest.h>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/creation.h>
#include <nyala/backend/runtime/device_registry.h>
#include <nyala/tests/conformance/ops/op_checks.h>

namespace nyala::testing {
namespace {

// Expected numbers of NumPy.
TEST(Creation, Arange) {
  expect_close(ops::arange(3), tensor_of({0, 1, 2}, {3}, DType::int32));
  expect_close(ops::arange(5, 0, {.step = -2}), tensor_of({5, 3, 1}, {3}, DType::int32));
  expect_close(ops::arange(0, 1, {.step = 0.3, .dtype = DType::float32}), tensor_of({0, 0.3, 0.6, 0.9}, {4}));
  EXPECT_EQ(ops::arange(0).shape(), Shape{0});
  EXPECT_EQ(ops::arange(3, 1).shape(), Shape{0});
  EXPECT_THROW(ops::arange(0, 1, {.step = 0}), InvalidArgumentError);
}

TEST(Creation, Linspace) {
  expect_close(ops::linspace(0, 1, 5), tensor_of({0, 0.25, 0.5, 0.75, 1}, {5}));
  expect_close(ops::linspace(0, 1, 5, {.endpoint = false}), tensor_of({0, 0.2, 0.4, 0.6, 0.8}, {5}));
  expect_close(ops::linspace(3, 7, 1), tensor_of({3}, {1}));
  EXPECT_EQ(ops::linspace(0, 1, 0).shape(), Shape{0});
  EXPECT_THROW(ops::linspace(0, 1, -1), InvalidArgumentError);
}

TEST(Creation, EyeAndFull) {
  expect_close(ops::eye(2), tensor_of({1, 0, 0, 1}, {2, 2}));
  expect_close(ops::eye(2, {.columns = 4, .diagonal = 1}), tensor_of({0, 1, 0, 0, 0, 0, 1, 0}, {2, 4}));
  expect_close(ops::eye(3, {.columns = 2, .diagonal = -1, .dtype = DType::int64}),
               tensor_of({0, 0, 1, 0, 0, 1}, {3, 2}, DType::int64));
  EXPECT_EQ(ops::eye(0).shape(), (Shape{0, 0}));
  expect_close(ops::ones({2}, DType::int32), tensor_of({1, 1}, {2}, DType::int32));
  expect_close(ops::full({1, 2}, -3), tensor_of({-3, -3}, {1, 2}));
  expect_close(ops::zeros({2}), tensor_of({0, 0}, {2}));
}

TEST(Creation, OnOtherDevices) {
  enable_ghost_device();
  const Tensor x = ops::arange(1, 4, {.device = "ghost:0"});
  EXPECT_EQ(x.device(), Device("ghost:0"));
  EXPECT_EQ(values_of(x), (std::vector<double>{1, 2, 3}));
}

}  // namespace
}  // namespace nyala::testing
