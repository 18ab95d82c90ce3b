#include <cmath>
#include <cstdint>

#include <gtest/gtest.h>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/creation.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/rounding.h>
#include <nyala/backend/ops/shape/pad.h>
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

TEST(Creation, OfIntegersThatTheDtypeHolds) {
  expect_close(ops::arange(250, 256, {.step = 5, .dtype = DType::uint8}),
               tensor_of({250, 255}, {2}, DType::uint8));
  expect_close(ops::arange(0, 2.5, {.dtype = DType::int32}), tensor_of({0, 1, 2}, {3}, DType::int32));
  expect_close(ops::arange(0, 2, {.dtype = DType::bool_}), tensor_of({0, 1}, {2}, DType::bool_));
  EXPECT_EQ(ops::arange(0x1p53, 0x1p53 + 4, {.dtype = DType::int64}).to_vector<int64_t>(),
            (std::vector<int64_t>{0x20000000000000, 0x20000000000001, 0x20000000000002, 0x20000000000003}));
  EXPECT_EQ(ops::arange(-0x1p63, 0x1p62, {.step = 0x1p62, .dtype = DType::int64}).to_vector<int64_t>(),
            (std::vector<int64_t>{INT64_MIN, -0x4000000000000000, 0}));
  EXPECT_EQ(ops::arange(-0x1p63, 0x1p63, {.step = 0x1p63, .dtype = DType::int64}).to_vector<int64_t>(),
            (std::vector<int64_t>{INT64_MIN, 0}));
  EXPECT_THROW(ops::arange(0, 400, {.step = 100, .dtype = DType::uint8}), InvalidArgumentError);
  EXPECT_THROW(ops::arange(-3, 3, {.dtype = DType::uint8}), InvalidArgumentError);
  EXPECT_THROW(ops::arange(0, 0x1p33, {.step = 0x1p32}), InvalidArgumentError) << "int32 by itself";
  EXPECT_THROW(ops::arange(0x1p63, 0x1p64, {.step = 0x1p62, .dtype = DType::int64}), InvalidArgumentError);
  EXPECT_THROW(ops::arange(0, 3, {.dtype = DType::bool_}), InvalidArgumentError);
  // Keras: a TypeError. NumPy cuts the step: zeros.
  EXPECT_THROW(ops::arange(0, 3, {.step = 0.5, .dtype = DType::int32}), InvalidArgumentError);
  EXPECT_THROW(ops::arange(0.5, 3, {.dtype = DType::int32}), InvalidArgumentError);

  expect_close(ops::linspace(-5, 5, 4, {.dtype = DType::int32}),
               tensor_of({-5, -2, 1, 5}, {4}, DType::int32));
  expect_close(ops::linspace(0, 1, 3, {.dtype = DType::bool_}), tensor_of({0, 1, 1}, {3}, DType::bool_));
  expect_close(ops::linspace(0, 256, 2, {.endpoint = false, .dtype = DType::uint8}),
               tensor_of({0, 128}, {2}, DType::uint8));
  EXPECT_THROW(ops::linspace(0, 300, 4, {.dtype = DType::uint8}), InvalidArgumentError);
  EXPECT_THROW(ops::linspace(-1, 1, 3, {.dtype = DType::uint8}), InvalidArgumentError);
  EXPECT_THROW(ops::linspace(0, 0x1p33, 3, {.dtype = DType::int32}), InvalidArgumentError);
  EXPECT_THROW(ops::linspace(NAN, 1, 3, {.dtype = DType::int32}), InvalidArgumentError);
}

TEST(Creation, OneValueThatTheDtypeHolds) {
  EXPECT_EQ(ops::full({}, 255, DType::uint8).item(), 255);
  EXPECT_EQ(ops::full({}, -2.7, DType::int32).item(), -2);
  EXPECT_EQ(ops::full({}, INT64_MIN, DType::int64).to_vector<int64_t>(), std::vector{INT64_MIN});
  EXPECT_EQ(ops::full({}, 2, DType::bool_).item(), 1);
  EXPECT_EQ(ops::full({}, 1e39, DType::float32).item(), INFINITY);
  EXPECT_THROW(ops::full({2}, 300, DType::uint8), InvalidArgumentError);
  EXPECT_THROW(ops::full({2}, -1, DType::uint8), InvalidArgumentError);
  EXPECT_THROW(ops::full({2}, int64_t{1} << 32, DType::int32), InvalidArgumentError);
  EXPECT_THROW(ops::full({2}, 0x1p63, DType::int64), InvalidArgumentError);
  EXPECT_THROW(ops::full({2}, NAN, DType::int32), InvalidArgumentError);
  EXPECT_THROW(ops::full_like(ops::zeros({2}, DType::uint8), 300), InvalidArgumentError);
  EXPECT_THROW(ops::full_like(Tensor::abstract({2}, DType::uint8), 300), InvalidArgumentError);
  EXPECT_THROW(ops::pad(ops::zeros({2}, DType::uint8), {{1, 1}}, "constant", 300), InvalidArgumentError);
  const Tensor x = tensor_of({1, 200}, {2}, DType::uint8);
  expect_close(ops::clip(x, -5, 300), x);
  expect_close(ops::clip(x, -INFINITY, 100), tensor_of({1, 100}, {2}, DType::uint8));
  EXPECT_THROW(ops::clip(x, 300, 400), InvalidArgumentError);
  EXPECT_THROW(ops::clip(x, -5, -1), InvalidArgumentError);
}

TEST(Creation, EyeOfSizesBelowZero) {
  EXPECT_THROW(ops::eye(-2), InvalidArgumentError);
  EXPECT_THROW(ops::eye(2, {.columns = -2}), InvalidArgumentError);
  EXPECT_THROW(ops::eye(-1, {.columns = 3}), InvalidArgumentError);
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
