#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/uniform_rows.h>
#include <nyala/backend/ops/elementwise/finite_check.h>
#include <nyala/tests/conformance/ops/op_checks.h>

namespace nyala::testing {
namespace {

Tensor step(int64_t number) { return Tensor::scalar(number); }

TEST(UniformRows, FillTheirRangesEvenly) {
  const int64_t rows = 20000;
  const auto y = values_of(ops::uniform_rows(
      step(3), {.rows = rows, .columns = 2, .ranges = {{{-0.5, 1.5}, {10.0, 11.0}}}, .key = 7}));
  double sums[2] = {}, squares[2] = {}, product = 0.0, least = 9.0, most = -9.0;
  for (size_t i = 0; i < y.size(); i += 2) {
    const double a = (y[i] + 0.5) / 2.0, b = y[i + 1] - 10.0;
    least = std::min({least, a, b});
    most = std::max({most, a, b});
    sums[0] += a, sums[1] += b, squares[0] += a * a, squares[1] += b * b, product += a * b;
  }
  EXPECT_GE(least, 0.0);
  EXPECT_LT(most, 1.0);
  EXPECT_LT(least, 0.001);
  EXPECT_GT(most, 0.999);
  const double n = static_cast<double>(rows), off = 5.0 / std::sqrt(12.0 * n);
  for (int k = 0; k < 2; ++k) {
    EXPECT_NEAR(sums[k] / n, 0.5, off);
    EXPECT_NEAR(squares[k] / n, 1.0 / 3.0, 2.0 * off);
  }
  EXPECT_NEAR(product / n, 0.25, off);  // columns are independent
}

TEST(UniformRows, PartsOfABatchDrawWhatTheWholeDraws) {
  const auto draw = [](int64_t rows, int64_t first) {
    return values_of(ops::uniform_rows(step(1), {.rows = rows, .columns = 2, .key = 5, .first_row = first}));
  };
  const auto whole = draw(7, 0);
  auto parts = draw(3, 0);
  for (const double value : draw(4, 3)) parts.push_back(value);
  EXPECT_EQ(parts, whole);
  EXPECT_TRUE(draw(0, 3).empty());
}

TEST(UniformRows, KeyAndStepDecide) {
  const auto draw = [](int64_t number, uint64_t key) {
    return values_of(ops::uniform_rows(step(number), {.rows = 4, .key = key}));
  };
  EXPECT_EQ(draw(1, 5), draw(1, 5));
  EXPECT_NE(draw(2, 5), draw(1, 5));
  EXPECT_NE(draw(1, 6), draw(1, 5));
}

TEST(UniformRows, OneNumberAndTheUpperLimit) {
  const auto same =
      values_of(ops::uniform_rows(step(0), {.rows = 3, .ranges = {{{0.25, 0.25}, {}}}, .key = 1}));
  EXPECT_EQ(same, (std::vector<double>{0.25, 0.25, 0.25}));
  const double high = 1.0, low = std::nextafter(1.0f, 0.0f);  // neighbours of float32
  for (const double value :
       values_of(ops::uniform_rows(step(0), {.rows = 100, .ranges = {{{low, high}, {}}}})))
    EXPECT_EQ(value, low);
}

TEST(UniformRows, KernelsAgree) {
  expect_kernels_agree(
      [](const Tensors& t) {
        return ops::uniform_rows(t[0], {.rows = 9, .columns = 2, .key = 9, .first_row = 3});
      },
      {step(2)}, {0.0, 0.0});
}

TEST(UniformRows, RefusesWhatDoesNotFit) {
  EXPECT_THROW(ops::uniform_rows(step(0), {.rows = -1}), InvalidArgumentError);
  EXPECT_THROW(ops::uniform_rows(step(0), {.columns = 3}), InvalidArgumentError);
  EXPECT_THROW(ops::uniform_rows(Tensor::zeros({2}, DType::int64), {}), ShapeError);
}

TEST(CountNotFinite, CountsInfinitiesAndNaNs) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  const std::vector<double> values = {0.0, -1.0, inf, nan, 3e38, -inf, 1e-45, -nan};
  for (const DType dtype : {DType::float32, DType::float64})
    EXPECT_EQ(ops::count_not_finite(tensor_of(values, {2, 4}, dtype)).item(), 4.0);
  EXPECT_EQ(ops::count_not_finite(Tensor::full({1000}, 1e300, DType::float64)).item(), 0.0);
  EXPECT_EQ(ops::count_not_finite(Tensor::zeros({0})).item(), 0.0);
  EXPECT_THROW(ops::count_not_finite(Tensor::zeros({2}, DType::int32)), ShapeError);
}

}  // namespace
}  // namespace nyala::testing
