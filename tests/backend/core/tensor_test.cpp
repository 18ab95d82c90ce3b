#include <cmath>
#include <limits>
#include <memory>

#include <gtest/gtest.h>

#include <nyala/backend/core/error.h>
#include <nyala/backend/core/tensor.h>
#include <nyala/backend/runtime/device_registry.h>

namespace nyala {

namespace {

TEST(TensorTest, FromValues) {
  const Tensor x{1.0f, 2.0f, 3.0f};
  EXPECT_EQ(x.shape(), Shape({3}));
  EXPECT_EQ(x.to_vector<float>(), std::vector<float>({1, 2, 3}));
  EXPECT_EQ(Tensor(2.5f).item(), 2.5);
  EXPECT_EQ(Tensor::from(std::vector<int32_t>{1, 2, 3, 4}, {2, 2}).dtype(), DType::int32);
  EXPECT_EQ(Tensor::scalar(int64_t{1} << 62).to_vector<int64_t>()[0], int64_t{1} << 62);
  EXPECT_THROW(Tensor::from(std::vector<float>{1, 2, 3}, {2, 2}), ShapeError);
  EXPECT_EQ(Tensor::full({2}, 1, DType::bool_).to_vector<bool>(), std::vector<bool>({true, true}));
  EXPECT_EQ(static_cast<float>(Tensor::full({1}, 1.5, DType::bfloat16).to_vector<bfloat16>()[0]), 1.5f);
  EXPECT_EQ(Tensor::zeros({2, 0}).num_elements(), 0);
}

TEST(TensorTest, WrongReadsAreErrors) {
  const Tensor x = Tensor::zeros({2});
  EXPECT_THROW(x.to_vector<double>(), DTypeError);
  EXPECT_THROW(x.data<int32_t>(), DTypeError);
  EXPECT_THROW(x.item(), ShapeError);
  EXPECT_THROW(Tensor::abstract({2}, DType::float32).data<float>(), StateError);
  EXPECT_THROW(Tensor::abstract({1}, DType::float32).item(), StateError);
  EXPECT_THROW(Tensor().item(), StateError);
  EXPECT_THROW(x.copy_from(Tensor::zeros({3})), ShapeError);
  EXPECT_THROW(x.with_shape({3}), ShapeError);
  EXPECT_THROW(x.rows(1, 2), ShapeError);
  EXPECT_THROW(x.rows(-1, 1), ShapeError);
}

TEST(TensorTest, CopiesShareAndClonesDoNot) {
  const Tensor x{1.0f, 2.0f}, shared = x, copy = x.clone();
  x.data<float>()[0] = 9;
  EXPECT_EQ(shared.to_vector<float>()[0], 9);
  EXPECT_EQ(copy.to_vector<float>()[0], 1);
  EXPECT_EQ(x.to(Device{}).raw(), x.raw());
}

TEST(TensorTest, ViewsShareBytes) {
  const Tensor x = Tensor::from(std::vector<float>{1, 2, 3, 4, 5, 6}, {3, 2});
  EXPECT_EQ(x.rows(1, 2).to_vector<float>(), std::vector<float>({3, 4, 5, 6}));
  EXPECT_EQ(x.rows(3, 0).num_elements(), 0);
  EXPECT_EQ(x.with_shape({6}).raw(), x.raw());
  x.rows(2, 1).data<float>()[1] = 60;
  EXPECT_EQ(x.to_vector<float>()[5], 60);
  const Tensor part = x.rows(1, 1).rows(0, 1);
  EXPECT_EQ(part.to_vector<float>(), std::vector<float>({3, 4}));
}

TEST(TensorTest, WritesChangeTheVersion) {
  const Tensor x = Tensor::zeros({4});
  const uint64_t before = x.storage()->version();
  x.copy_from(Tensor::full({4}, 1));
  EXPECT_NE(x.storage()->version(), before);
}

TEST(TensorTest, WrapKeepsItsOwnerAlive) {
  auto owner = std::make_shared<std::vector<float>>(std::vector<float>{1, 2, 3});
  const std::weak_ptr<std::vector<float>> watch = owner;
  {
    const Tensor x = Tensor::wrap(owner->data(), {3}, DType::float32, owner);
    owner.reset();
    EXPECT_FALSE(watch.expired());
    EXPECT_EQ(x.rows(1, 1).to_vector<float>()[0], 2);
  }
  EXPECT_TRUE(watch.expired());
}

TEST(TensorTest, ADeviceThatDoesNotExist) {
  try {
    Tensor::zeros({1}, DType::float32, "cpu:7");
    FAIL();
  } catch (const DeviceNotFoundError& error) {
    EXPECT_NE(std::string(error.what()).find("'cpu:0'"), std::string::npos) << error.what();
  }
  EXPECT_THROW(Tensor::zeros({1}, DType::float32, "gpu:0"), DeviceNotFoundError);
}

/// The texts are those of numpy's str().
TEST(TensorTest, AMovedOneIsEmpty) {
  Tensor x = Tensor::ones({2, 2});
  const Tensor y = std::move(x);
  EXPECT_FALSE(x.defined());
  EXPECT_FALSE(x.is_abstract());
  EXPECT_THROW(x.item(), StateError);
  EXPECT_TRUE(y.defined());
  x = y;
  EXPECT_TRUE(x.defined());
  Tensor z;
  z = std::move(x);
  EXPECT_FALSE(x.defined());
  Tensor& same = z;
  z = std::move(same);
  EXPECT_EQ(z.to_vector<float>(), std::vector<float>(4, 1.0f));
}

TEST(TensorTest, UnknownSizesOutsideOfLayersAreErrors) {
  EXPECT_THROW(Tensor::zeros({-1, 2}), ShapeError);
  EXPECT_THROW(Tensor::ones({None, 2}), ShapeError);
  EXPECT_THROW(Tensor::full({2, -1}, 3), ShapeError);
  EXPECT_THROW(Tensor::empty({-1}), ShapeError);
  EXPECT_THROW(Tensor::zeros({-2, 2}), ShapeError);
}

TEST(TensorTextTest, PrintsAsNumPy) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const auto text = [](std::vector<float> values, const Shape& shape) {
    return Tensor::from(values, shape).to_string();
  };
  EXPECT_EQ(text({1, 2.5f, -3}, {3}), "[ 1.   2.5 -3. ]");
  EXPECT_EQ(text({1, 2, 3, 4, 5, 6, 7, 8}, {2, 2, 2}), "[[[1. 2.]\n  [3. 4.]]\n\n [[5. 6.]\n  [7. 8.]]]");
  EXPECT_EQ(text({3.5f}, {}), "3.5");
  EXPECT_EQ(text({1e-10f, 1}, {2}), "[1.e-10 1.e+00]");
  EXPECT_EQ(text({1e10f, 1}, {2}), "[1.e+10 1.e+00]");
  EXPECT_EQ(text({std::nanf(""), 1, kInfinity, -kInfinity}, {4}), "[ nan   1.  inf -inf]");
  EXPECT_EQ(text({}, {0}), "[]");
  EXPECT_EQ(text({0.1f, 0.25f, 1.0f / 3}, {3}), "[0.1        0.25       0.33333334]");
  EXPECT_EQ(text({0.0f, -0.0f}, {2}), "[ 0. -0.]");
  EXPECT_EQ(text({123456.78f, 0.5f}, {2}), "[1.2345678e+05 5.0000000e-01]");
  EXPECT_EQ(text({0.5f, -100.25f}, {2, 1}), "[[   0.5 ]\n [-100.25]]");
  EXPECT_EQ(text({1e-4f, 0.05f}, {2}), "[0.0001 0.05  ]");
  EXPECT_EQ(text({-0.00012f, 0.3f}, {2}), "[-1.2e-04  3.0e-01]");
  EXPECT_EQ(text({1e20f, 2.5e-3f}, {1, 2}), "[[1.0e+20 2.5e-03]]");
  EXPECT_EQ(Tensor::from(std::vector<double>{0.1, 1.0 / 3}).to_string(), "[0.1        0.33333333]");
  EXPECT_EQ(Tensor::from(std::vector<int32_t>{1, 2, 3, 40}, {2, 2}).to_string(), "[[ 1  2]\n [ 3 40]]");
  EXPECT_EQ(Tensor::from(std::vector<int64_t>{int64_t{9007199254740993}}).to_string(), "[9007199254740993]");
  const bool flags[] = {true, false};
  EXPECT_EQ(Tensor::from(std::span<const bool>(flags), {2}).to_string(), "[ True False]");
  EXPECT_EQ(Tensor::full({2}, 1.5, DType::float16).to_string(), "[1.5 1.5]");
}

TEST(TensorTextTest, LongTensorsAreCut) {
  std::vector<int32_t> values(2000);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int32_t>(i);
  EXPECT_EQ(Tensor::from(values).to_string(), "[   0    1    2 ... 1997 1998 1999]");
  std::vector<float> numbers(1200);
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i);
  EXPECT_EQ(Tensor::from(numbers, {40, 30}).to_string(),
            "[[0.000e+00 1.000e+00 2.000e+00 ... 2.700e+01 2.800e+01 2.900e+01]\n"
            " [3.000e+01 3.100e+01 3.200e+01 ... 5.700e+01 5.800e+01 5.900e+01]\n"
            " [6.000e+01 6.100e+01 6.200e+01 ... 8.700e+01 8.800e+01 8.900e+01]\n"
            " ...\n"
            " [1.110e+03 1.111e+03 1.112e+03 ... 1.137e+03 1.138e+03 1.139e+03]\n"
            " [1.140e+03 1.141e+03 1.142e+03 ... 1.167e+03 1.168e+03 1.169e+03]\n"
            " [1.170e+03 1.171e+03 1.172e+03 ... 1.197e+03 1.198e+03 1.199e+03]]");
}

TEST(TensorTextTest, LongRowsAreBroken) {
  std::vector<int64_t> values(60);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int64_t>(i);
  EXPECT_EQ(Tensor::from(values).to_string(),
            "[ 0  1  2  3  4  5  6  7  8  9 10 11 12 13 14 15 16 17 18 19 20 21 22 23\n"
            " 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47\n"
            " 48 49 50 51 52 53 54 55 56 57 58 59]");
}

TEST(TensorTextTest, WithoutValues) {
  EXPECT_EQ(Tensor::abstract({None, 3}, DType::float32).to_string(),
            "<symbolic tensor shape=(None, 3), dtype=float32>");
  EXPECT_EQ(Tensor().to_string(), "undefined");
  enable_ghost_device();
  EXPECT_EQ((Tensor{1.0f, 2.0f}).to("ghost:0").to_string(), "[1. 2.]");
}

}  // namespace

}  // namespace nyala
