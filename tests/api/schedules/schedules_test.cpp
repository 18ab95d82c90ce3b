#include <cmath>
#include <numbers>

#include <gtest/gtest.h>

#include <nyala/api/schedules/all.h>
#include <nyala/backend/core/error.h>

namespace nyala::testing {
namespace {

TEST(Schedules, ExponentialDecay) {
  const LearningRate smooth = ExponentialDecay(0.1, 10, 0.5),
                     stairs = ExponentialDecay(0.1, 10, 0.5, {.staircase = true});
  for (const int64_t step : {0, 1, 9, 10, 25, 100}) {
    EXPECT_NEAR(smooth.at(step), 0.1 * std::pow(0.5, static_cast<double>(step) / 10), 1e-8);
    EXPECT_NEAR(stairs.at(step), 0.1 * std::pow(0.5, static_cast<double>(step / 10)), 1e-8);
  }
}

TEST(Schedules, CosineDecayWithWarmup) {
  const LearningRate rate = CosineDecay(0.1, 100, {.alpha = 0.2, .warmup_target = 0.5, .warmup_steps = 10});
  EXPECT_NEAR(rate.at(0), 0.1, 1e-8);
  EXPECT_NEAR(rate.at(5), 0.3, 1e-7);
  EXPECT_NEAR(rate.at(10), 0.5, 1e-7);
  const double half = 0.5 * (0.8 * 0.5 * (1 + std::cos(std::numbers::pi / 2)) + 0.2);
  EXPECT_NEAR(rate.at(60), half, 1e-7);
  EXPECT_NEAR(rate.at(110), 0.1, 1e-7);
  EXPECT_NEAR(rate.at(100000), 0.1, 1e-7);
  EXPECT_NEAR(LearningRate(CosineDecay(1.0, 4)).at(2), 0.5, 1e-7);
}

TEST(Schedules, PiecewiseConstantDecayTakesTheEarlierValueAtABoundary) {
  const LearningRate rate = PiecewiseConstantDecay({5, 10}, {1.0, 0.5, 0.25});
  EXPECT_EQ(rate.at(0), 1.0);
  EXPECT_EQ(rate.at(5), 1.0);
  EXPECT_EQ(rate.at(6), 0.5);
  EXPECT_EQ(rate.at(10), 0.5);
  EXPECT_EQ(rate.at(11), 0.25);
}

TEST(Schedules, Validation) {
  EXPECT_THROW(ExponentialDecay(0.1, 0, 0.5), InvalidArgumentError);
  EXPECT_THROW(CosineDecay(0.1, -1), InvalidArgumentError);
  EXPECT_THROW(PiecewiseConstantDecay({1, 2}, {0.1, 0.2}), InvalidArgumentError);
  EXPECT_THROW(PiecewiseConstantDecay({}, {0.1}), InvalidArgumentError);
  EXPECT_THROW(PiecewiseConstantDecay({3, 2}, {0.1, 0.2, 0.3}), InvalidArgumentError);
}

TEST(Schedules, AnOwnOne) {
  class Countdown final : public LearningRateScheduleNode {
   public:
    std::string class_name() const override { return "Countdown"; }
    double operator()(int64_t step) const override { return 1.0 / static_cast<double>(step + 1); }
  };
  const LearningRate rate(std::make_shared<Countdown>());
  EXPECT_TRUE(rate.is_schedule());
  EXPECT_EQ(rate.at(3), 0.25);
  EXPECT_FALSE(LearningRate(0.5).is_schedule());
  EXPECT_EQ(LearningRate(0.5).at(1000), 0.5);
}

}  // namespace
}  // namespace nyala::testing
