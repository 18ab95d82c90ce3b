#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/shape/scatter_into.h>
#include <nyala/backend/runtime/device_registry.h>

namespace nyala::testing {

namespace {

using ops::ScatterKind;
using ::testing::HasSubstr;

template <class T>
std::vector<T> scattered(ScatterKind kind, const char* device) {
  const Tensor y = Tensor::from(std::vector<T>{10, 20, 30, 40, 50, 60}, {3, 2}, device);
  const Tensor indices = Tensor::from(std::vector<int32_t>{2, 0, 2}, {3}, device);
  const Tensor values = Tensor::from(std::vector<T>{5, 2, 100, 4, 2, 70}, {3, 2}, device);
  ops::detail::scatter_into(y, kind, indices, values);
  return y.template to_vector<T>();
}

template <class T>
void check_all(const char* device) {
  const auto check = [&](ScatterKind kind, std::vector<T> expected) {
    EXPECT_EQ(scattered<T>(kind, device), expected) << device << " kind " << static_cast<int>(kind);
  };
  check(ScatterKind::add, {110, 24, 30, 40, 57, 132});
  check(ScatterKind::minimum, {10, 4, 30, 40, 2, 2});
  check(ScatterKind::maximum, {100, 20, 30, 40, 50, 70});
  check(ScatterKind::update, {100, 4, 30, 40, 2, 70});
  if constexpr (std::is_same_v<T, double>) {
    check(ScatterKind::subtract, {-90, 16, 30, 40, 43, -12});
    check(ScatterKind::multiply, {1000, 80, 30, 40, 500, 8400});
    check(ScatterKind::divide, {0.1, 5, 30, 40, 5, 30.0 / 70});
  } else {
    check(ScatterKind::divide, {0, 5, 30, 40, 5, 0});
  }
}

TEST(ScatterInto, EveryKindOnEveryDevice) {
  enable_ghost_device();
  for (const char* device : {"cpu:0", "ghost:0"}) {
    check_all<double>(device);
    check_all<int64_t>(device);
    check_all<uint8_t>(device);
  }
}

TEST(ScatterInto, RefusesBeforeItWrites) {
  const Tensor y = Tensor::from(std::vector<int32_t>{1, 2, 3});
  const Tensor two = Tensor::from(std::vector<int32_t>{0, 3});
  try {
    ops::detail::scatter_into(y, ScatterKind::add, two, Tensor::from(std::vector<int32_t>{7, 7}));
    FAIL() << "an index outside was taken";
  } catch (const NumericError& error) {
    EXPECT_THAT(error.what(), HasSubstr("index 3 in row 1 is outside [0, 3)"));
  }
  const Tensor inside = Tensor::from(std::vector<int32_t>{0, 1});
  EXPECT_THROW(
      ops::detail::scatter_into(y, ScatterKind::divide, inside, Tensor::from(std::vector<int32_t>{1, 0})),
      NumericError);
  EXPECT_THROW(
      ops::detail::scatter_into(y, ScatterKind::add, inside, Tensor::from(std::vector<int32_t>{1, 2, 3})),
      ShapeError);
  EXPECT_THROW(ops::detail::scatter_into(y, ScatterKind::add, Tensor({0, 1}),
                                         Tensor::from(std::vector<int32_t>{1, 2})),
               InvalidArgumentError);
  EXPECT_EQ(y.to_vector<int32_t>(), std::vector<int32_t>({1, 2, 3}));
}

TEST(ScatterInto, NothingToScatter) {
  const Tensor y({1, 2});
  ops::detail::scatter_into(y, ScatterKind::multiply, Tensor::from(std::vector<int64_t>{}, {0}),
                            Tensor::zeros({0}));
  EXPECT_EQ(y.to_vector<float>(), std::vector<float>({1, 2}));
}

}  // namespace

}  // namespace nyala::testing
