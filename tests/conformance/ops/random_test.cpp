#include <cmath>
#include <numeric>

#include <gtest/gtest.h>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/random/random.h>
#include <nyala/backend/runtime/context.h>
#include <nyala/backend/runtime/device_registry.h>
#include <nyala/tests/conformance/ops/op_checks.h>

namespace nyala::testing {

using namespace nyala::detail;
namespace {

struct Moments {
  double mean = 0, variance = 0, skew = 0, kurtosis = 0;
};

Moments moments_of(const Tensor& t) {
  const std::vector<double> values = values_of(t);
  const double n = static_cast<double>(values.size());
  Moments m;
  m.mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  for (const double v : values) {
    const double d = v - m.mean;
    m.variance += d * d / n;
    m.skew += d * d * d / n;
    m.kurtosis += d * d * d * d / n;
  }
  m.skew /= std::pow(m.variance, 1.5);
  m.kurtosis /= m.variance * m.variance;
  return m;
}

constexpr int64_t kMany = 200000;  // standard error of a mean: 0.0022 standard deviations

TEST(Random, UniformFillsItsRange) {
  const Tensor x = ops::random_uniform({kMany}, -1, 3, {.key = 5});
  const std::vector<double> values = values_of(x);
  EXPECT_GE(*std::min_element(values.begin(), values.end()), -1.0);
  EXPECT_LT(*std::max_element(values.begin(), values.end()), 3.0);
  const Moments m = moments_of(x);
  EXPECT_NEAR(m.mean, 1.0, 0.015);
  EXPECT_NEAR(m.variance, 16.0 / 12, 0.015);
  EXPECT_NEAR(m.kurtosis, 1.8, 0.02);
}

TEST(Random, UniformIntegersReachEveryValueOften) {
  std::vector<int> counts(7);
  for (const double v : values_of(ops::random_uniform({70000}, -3, 4, {.key = 1, .dtype = DType::int32})))
    ++counts.at(static_cast<size_t>(v + 3));
  for (const int count : counts) EXPECT_NEAR(count, 10000, 500);
}

TEST(Random, NormalHasItsMoments) {
  const Moments m = moments_of(ops::random_normal({kMany / 2, 2}, 2, 0.5, {.key = 9}));
  EXPECT_NEAR(m.mean, 2.0, 0.006);
  EXPECT_NEAR(m.variance, 0.25, 0.005);
  EXPECT_NEAR(m.skew, 0.0, 0.03);
  EXPECT_NEAR(m.kurtosis, 3.0, 0.06);
}

TEST(Random, TruncatedNormalStaysWithinTwoDeviations) {
  const Tensor x = ops::random_truncated_normal({kMany}, 1, 2, {.key = 3, .dtype = DType::float64});
  for (const double v : values_of(x)) ASSERT_LE(std::abs(v - 1), 4.0);
  const Moments m = moments_of(x);
  EXPECT_NEAR(m.mean, 1.0, 0.02);
  EXPECT_NEAR(std::sqrt(m.variance), 2 * 0.87962566, 0.01);  // of the normal distribution cut at 2
}

TEST(Random, DependsOnKeyAloneNotOnThreadsOrDevice) {
  enable_ghost_device();
  const Tensor x = ops::random_normal({10007}, 0, 1, {.key = 11});
  {
    ScopedValue<int> one(thread_context().compute_threads, 1);
    EXPECT_EQ(values_of(ops::random_normal({10007}, 0, 1, {.key = 11})), values_of(x));
  }
  EXPECT_EQ(values_of(ops::random_normal({10007}, 0, 1, {.key = 11, .device = "ghost:0"})), values_of(x));
  EXPECT_NE(values_of(ops::random_normal({10007}, 0, 1, {.key = 12})), values_of(x));
}

// As keras.random.randint and tf.random.uniform, which want minval < maxval and no number that int32 lacks.
TEST(Random, IntegersBetweenImpossibleBoundsAreRefused) {
  const std::pair<double, double> bounds[] = {
      {0, -1}, {0, 0}, {5, 2}, {0, NAN}, {NAN, 1}, {NAN, NAN}, {0, -INFINITY}, {0, INFINITY}, {-INFINITY, 0}};
  for (const auto& [low, high] : bounds)
    for (const DType dtype : {DType::int32, DType::int64, DType::uint8})
      EXPECT_THROW(ops::random_uniform({2}, low, high, {.dtype = dtype}), InvalidArgumentError)
          << low << " " << high;
  EXPECT_EQ(values_of(ops::random_uniform({2}, 3, 4, {.dtype = DType::int32})), (std::vector<double>{3, 3}));
  for (const double v : values_of(ops::random_uniform({9}, 5, 2, {})))  // of floats, as in Keras
    EXPECT_TRUE(v > 2 && v <= 5) << v;
}

TEST(Random, SizesAndDtypes) {
  EXPECT_EQ(ops::random_uniform({0, 3}, 0, 1, {}).shape(), (Shape{0, 3}));
  EXPECT_EQ(ops::random_normal({}, 0, 1, {.dtype = DType::bfloat16}).dtype(), DType::bfloat16);
  EXPECT_THROW(ops::random_uniform({-1, 2}), ShapeError);
  EXPECT_THROW(ops::random_uniform({-1, 2}, 0, 1, {}), ShapeError);
  EXPECT_THROW(ops::random_normal({None, 2}), ShapeError);
  EXPECT_THROW(ops::random_truncated_normal({2, -1}), ShapeError);
  EXPECT_THROW(ops::random_uniform({2}, 0, 300, {.dtype = DType::uint8}), InvalidArgumentError);
  EXPECT_THROW(ops::random_uniform({2}, -1, 2, {.dtype = DType::uint8}), InvalidArgumentError);
  EXPECT_EQ(ops::random_uniform({2}, 0, 256, {.dtype = DType::uint8}).dtype(), DType::uint8);
  EXPECT_THROW(ops::random_normal({2}, 0, 1, {.dtype = DType::int32}), DTypeError);
  EXPECT_THROW(ops::random_truncated_normal({2}, 0, 1, {.dtype = DType::bool_}), DTypeError);
}

}  // namespace
}  // namespace nyala::testing
