#include <cmath>
#include <numbers>

#include <gtest/gtest.h>

#include <nyala/api/schedules/all.h>
#include <nyala/backend/core/error.h>

namespace nyala {
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

TEST(Schedules, InverseTimeAndPolynomialDecay) {
  EXPECT_NEAR(InverseTimeDecay(0.1, 10, 0.5).at(20), 0.1 / 2, 1e-8);
  EXPECT_NEAR(InverseTimeDecay(0.1, 10, 0.5, {.staircase = true}).at(19), 0.1 / 1.5, 1e-8);
  EXPECT_NEAR(PolynomialDecay(0.1, 10, {.end_learning_rate = 0.02, .power = 2.0}).at(5), 0.08 * 0.25 + 0.02,
              1e-8);
  EXPECT_NEAR(PolynomialDecay(0.1, 10, {.end_learning_rate = 0.02}).at(1000), 0.02, 1e-8);
  EXPECT_NEAR(PolynomialDecay(0.1, 10, {.end_learning_rate = 0.0, .cycle = true}).at(15), 0.1 * 0.25, 1e-8);
}

TEST(Schedules, CosineDecayRestarts) {
  const LearningRate rate = CosineDecayRestarts(1.0, 10, {.m_mul = 0.5});
  EXPECT_NEAR(rate.at(0), 1.0, 1e-6);
  EXPECT_NEAR(rate.at(5), 0.5, 1e-6);
  EXPECT_NEAR(rate.at(20), 0.25, 1e-6) << "the middle of the second period, 20 steps long and half as high";
  EXPECT_THROW(CosineDecayRestarts(1.0, 0), InvalidArgumentError);
  EXPECT_THROW(PolynomialDecay(1.0, -1), InvalidArgumentError);
  EXPECT_THROW(InverseTimeDecay(1.0, 0, 1), InvalidArgumentError);
}

}  // namespace
}  // namespace nyala
