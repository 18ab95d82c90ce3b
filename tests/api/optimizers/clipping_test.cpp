#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include <nyala/backend/core/error.h>
#include <nyala/tests/api/optimizers/bench.h>

namespace nyala {

using namespace nyala::detail;
namespace {

double norm_of(const std::vector<double>& values) {
  double sum = 0;
  for (double v : values) sum += v * v;
  return std::sqrt(sum);
}

/// Weights after one SGD step with rate 1, as what was taken off.
std::vector<std::vector<double>> taken_off(Bench& bench, const std::vector<std::vector<double>>& gradients) {
  std::vector<std::vector<double>> before, result;
  for (size_t v = 0; v < bench.variables.size(); ++v) before.push_back(bench.weights(v));
  bench.step(gradients);
  for (size_t v = 0; v < bench.variables.size(); ++v) {
    std::vector<double>& values = result.emplace_back(bench.weights(v));
    for (size_t i = 0; i < values.size(); ++i) values[i] = before[v][i] - values[i];
  }
  return result;
}

TEST(Clipping, ClipnormLooksAtEachVariable) {
  Bench bench(SGD({.learning_rate = 1.0, .clipnorm = 2.5}), {.shapes = {{3}, {5000}, {2, 2}}});
  auto gradients = bench.gradients(0);
  for (double& g : gradients[2]) g = 0;  // nothing to divide by
  const auto got = taken_off(bench, gradients);
  for (size_t v = 0; v < got.size(); ++v) {
    const double factor = 2.5 / std::max(norm_of(gradients[v]), 2.5);
    for (size_t i = 0; i < got[v].size(); ++i) ASSERT_NEAR(got[v][i], factor * gradients[v][i], 1e-13);
  }
  EXPECT_LT(norm_of(gradients[0]), 2.5) << "one that is not clipped";
  EXPECT_GT(norm_of(gradients[1]), 2.5) << "one that is";
}

TEST(Clipping, GlobalNormIsOfAllAndOfScaledGradients) {
  for (const double limit : {0.7, 1e6}) {
    Bench bench(SGD({.learning_rate = 1.0, .global_clipnorm = limit, .loss_scale_factor = 4.0}),
                {.shapes = {{3}, {5000}, {2, 2}}});
    const auto gradients = bench.gradients(0);
    std::vector<double> all;
    for (const auto& g : gradients)
      for (double value : g) all.push_back(value / 4.0);
    const double factor = std::min(1.0, limit / norm_of(all));
    const auto got = taken_off(bench, gradients);
    for (size_t v = 0; v < got.size(); ++v)
      for (size_t i = 0; i < got[v].size(); ++i)
        ASSERT_NEAR(got[v][i], factor * gradients[v][i] / 4.0, 1e-13) << limit;
  }
}

TEST(Clipping, AnInfiniteGradientMakesAllNaNGloballyAsInKeras) {
  Bench bench(SGD({.learning_rate = 1.0, .global_clipnorm = 1.0}));
  auto gradients = bench.gradients(0);
  gradients[1][2] = std::numeric_limits<double>::infinity();
  bench.step(gradients);
  for (size_t v = 0; v < 3; ++v)
    for (double w : bench.weights(v)) EXPECT_TRUE(std::isnan(w));
}

TEST(Clipping, AnInfiniteGradientStaysInItsVariableWithClipnorm) {
  Bench bench(SGD({.learning_rate = 1.0, .clipnorm = 1.0}));
  auto gradients = bench.gradients(0);
  gradients[1][2] = std::numeric_limits<double>::infinity();
  const std::vector<double> before = bench.weights(1);
  bench.step(gradients);
  const std::vector<double> after = bench.weights(1);
  for (size_t i = 0; i < after.size(); ++i)
    if (i == 2)
      EXPECT_TRUE(std::isnan(after[i]));
    else
      EXPECT_EQ(after[i], before[i]);
  for (double w : bench.weights(0)) EXPECT_TRUE(std::isfinite(w));
}

TEST(Clipping, NaNPassesClipvalue) {
  Bench bench(SGD({.learning_rate = 1.0, .clipvalue = 0.1}));
  auto gradients = bench.gradients(0);
  gradients[0][1] = std::numeric_limits<double>::quiet_NaN();
  gradients[0][2] = -std::numeric_limits<double>::infinity();
  const std::vector<double> before = bench.weights(0);
  bench.step(gradients);
  EXPECT_TRUE(std::isnan(bench.weights(0)[1]));
  EXPECT_NEAR(bench.weights(0)[2], before[2] + 0.1, 1e-15);
}

TEST(Clipping, LimitsThatAreNotPositiveAreIgnoredAsInKeras) {
  for (const double limit : {0.0, -3.0}) {
    for (const auto& optimizer : {SGD({.learning_rate = 1.0, .clipnorm = limit}),
                                  SGD({.learning_rate = 1.0, .global_clipnorm = limit}),
                                  SGD({.learning_rate = 1.0, .clipvalue = limit})}) {
      Bench bench(optimizer);
      const auto gradients = bench.gradients(0);
      const auto got = taken_off(bench, gradients);
      EXPECT_NEAR(got[0][3], gradients[0][3], 1e-15);
    }
  }
}

TEST(Clipping, OnlyOneKind) {
  EXPECT_THROW(SGD({.clipnorm = 1.0, .clipvalue = 1.0}), InvalidArgumentError);
  EXPECT_THROW(Adam({.clipvalue = 1.0, .global_clipnorm = 1.0}), InvalidArgumentError);
  EXPECT_THROW(RMSprop({.clipnorm = 0.0, .global_clipnorm = 1.0}), InvalidArgumentError);
  EXPECT_NO_THROW(SGD({.clipnorm = 1.0}));
}

}  // namespace
}  // namespace nyala
