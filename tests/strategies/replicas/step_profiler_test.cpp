#include <chrono>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/backend/autograd/backward.h>
#include <nyala/backend/core/log.h>
#include <nyala/backend/ops/reduction/reduction.h>
#include <nyala/backend/runtime/device_registry.h>
#include <nyala/strategies/in_process.h>
#include <nyala/tests/strategies/plain_descent.h>

namespace nyala {

namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

void sleep_ms(int milliseconds) { std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds)); }

/// Direct, but takes its time.
class SlowOps final : public CrossDeviceOps {
 public:
  explicit SlowOps(int milliseconds) : milliseconds_(milliseconds) {}
  std::string name() const override { return "SlowOps"; }

 protected:
  void sum_in_place(std::span<const Tensor>, bool) const override { sleep_ms(milliseconds_); }

 private:
  int milliseconds_;
};

class StepProfilerTest : public ::testing::Test {
 protected:
  void SetUp() override { configure_logical_devices("cpu", 4); }
  void TearDown() override {
    set_log_sink({});
    configure_logical_devices("cpu", 1);
  }

  struct Work {
    std::vector<int> compute_ms{0, 0};
    int reduce_ms = 0;
    bool meet = false;
  };

  InProcessOptions options(const Work& work) {
    return {.name = "test strategy",
            .devices = {"cpu:0", "cpu:1"},
            .bucket_elements = 1,
            .cross_device_ops = std::make_shared<SlowOps>(work.reduce_ms)};
  }

  static void step(InProcessStrategy& strategy, PlainDescent& rule, const Work& work) {
    const Variable weight = rule.variables()[0];
    strategy.run(
        [&](Replica& replica) {
          const size_t id = static_cast<size_t>(replica.id);
          sleep_ms(work.compute_ms[id]);
          if (work.meet) replica.context->all_reduce_sum(Tensor{1});
          const Tensor value = replica.tape->watch(weight.value(id), weight.node().leaf);
          backward(*replica.tape, ops::sum(value), *replica.gradients);
        },
        &rule);
    strategy.update(rule);
  }

  /// The mean of three steps.
  StepTimes measured(const Work& work) {
    InProcessStrategy strategy(options(work));
    PlainDescent rule({make_variable(strategy.store(), "w", {4}, 0)}, 1.0);
    strategy.profiler().set_enabled(true);
    for (int i = 0; i < 3; ++i) step(strategy, rule, work);
    return strategy.profiler().times();
  }
};

// Sleeping takes at least as long as asked for: only lower limits are sure on a busy machine.
TEST_F(StepProfilerTest, ComputeReduceAndWaitAreToldApart) {
  const StepTimes slow = measured({.compute_ms = {30, 30}});
  EXPECT_EQ(slow.steps, 3);
  EXPECT_GE(slow.compute, 0.030);
  const StepTimes reducing = measured({.reduce_ms = 40});
  EXPECT_GE(reducing.reduce, 0.020);  // one of two replicas: half of the time of both
  EXPECT_GE(reducing.wait, 0.010);    // the other one has nothing to do meanwhile
  EXPECT_TRUE(reducing.communication_bound());
  const StepTimes uneven = measured({.compute_ms = {0, 60}});
  EXPECT_GE(uneven.wait, 0.025);
  EXPECT_GE(uneven.compute, 0.030);
  const StepTimes meeting = measured({.compute_ms = {60, 0}, .meet = true});
  EXPECT_GE(meeting.wait, 0.025);
}

TEST_F(StepProfilerTest, InputAndUpdateAreMeasured) {
  InProcessStrategy strategy(options({}));
  PlainDescent rule({make_variable(strategy.store(), "w", {4}, 0)}, 1.0);
  rule.in_slices = [](int) { sleep_ms(10); };
  std::vector<StepTimes> steps;
  strategy.profiler().on_step = [&](const StepTimes& times) { steps.push_back(times); };
  strategy.profiler().set_enabled(true);
  for (int i = 0; i < 2; ++i) {
    step(strategy, rule, {});
    sleep_ms(20);
  }
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[0].input, 0.0);
  EXPECT_GE(steps[1].input, 0.020);
  EXPECT_GE(steps[0].update, 0.010);
}

TEST_F(StepProfilerTest, NothingIsMeasuredUnlessAskedFor) {
  InProcessStrategy strategy(options({}));
  PlainDescent rule({make_variable(strategy.store(), "w", {4}, 0)}, 1.0);
  int calls = 0;
  strategy.profiler().on_step = [&](const StepTimes&) { ++calls; };
  step(strategy, rule, {});
  EXPECT_EQ(strategy.profiler().times().steps, 0);
  EXPECT_THAT(strategy.describe(),
              AllOf(HasSubstr("SlowOps"), HasSubstr("1 bucket"), Not(HasSubstr("compute"))));
  strategy.profiler().set_enabled(true);
  step(strategy, rule, {});
  strategy.profiler().set_enabled(false);
  step(strategy, rule, {});
  EXPECT_EQ(calls, 1);
  EXPECT_THAT(strategy.describe(), AllOf(HasSubstr("compute"), HasSubstr("wait")));
  strategy.profiler().set_enabled(true);
  EXPECT_EQ(strategy.profiler().times().steps, 0);
}

TEST_F(StepProfilerTest, WarnsOnceWhenMoreDevicesCannotPay) {
  std::vector<std::string> warnings;
  set_log_sink([&](LogChannel channel, std::string_view text) {
    if (channel == LogChannel::warning) warnings.emplace_back(text);
  });
  const Work work{.reduce_ms = 10};
  InProcessStrategy strategy(options(work));
  PlainDescent rule({make_variable(strategy.store(), "w", {4}, 0)}, 1.0);
  strategy.profiler().set_enabled(true);
  for (int i = 0; i < 15; ++i) step(strategy, rule, work);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_THAT(warnings[0], AllOf(HasSubstr("larger batch"), HasSubstr("2 replicas")));
  EXPECT_THAT(strategy.describe(), HasSubstr("WARNING"));
}

TEST_F(StepProfilerTest, AFailedStepIsNotCounted) {
  InProcessStrategy strategy(options({}));
  PlainDescent rule({make_variable(strategy.store(), "w", {4}, 0)}, 1.0);
  strategy.profiler().set_enabled(true);
  EXPECT_ANY_THROW(strategy.run([](Replica&) { throw std::runtime_error("no"); }, &rule));
  EXPECT_EQ(strategy.profiler().times().steps, 0);
  step(strategy, rule, {});
  EXPECT_EQ(strategy.profiler().times().steps, 1);
}

}  // namespace

}  // namespace nyala
