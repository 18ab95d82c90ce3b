#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/backend/autograd/backward.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/elementwise/binary.h>
#include <nyala/backend/ops/reduction/reduction.h>
#include <nyala/backend/runtime/device_registry.h>
#include <nyala/strategies/in_process.h>
#include <nyala/strategies/one_device.h>
#include <nyala/tests/strategies/plain_descent.h>

namespace nyala::in_process_test {

using namespace nyala::detail;

namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

InProcessOptions options(int replicas, bool share) {
  InProcessOptions out{.name = "test strategy", .devices = {}, .share_weights = share};
  for (int i = 0; i < replicas; ++i) out.devices.push_back(Device("cpu:" + std::to_string(i)));
  return out;
}

/// loss = factor * sum(weight) on every replica.
std::function<void(Replica&)> step_of(const Variable& weight, double factor = 1.0) {
  return [weight, factor](Replica& replica) {
    const Tensor value =
        replica.tape->watch(weight.value(static_cast<size_t>(replica.id)), weight.node().leaf);
    backward(*replica.tape, ops::sum(value) * factor, *replica.gradients);
  };
}

class InProcessTest : public ::testing::TestWithParam<std::tuple<int, bool>> {
 protected:
  void SetUp() override { configure_logical_devices("cpu", 7); }
  void TearDown() override { configure_logical_devices("cpu", 1); }
  static int replicas() { return std::get<0>(GetParam()); }
  static InProcessOptions own_options() { return options(replicas(), std::get<1>(GetParam())); }
};

TEST_P(InProcessTest, SubnormalNumbersAreThoseOfOneThread) {
  InProcessStrategy strategy(own_options());
  volatile float tiny = 1e-30f, factor = 1e-10f;
  const float expected = tiny * factor;
  ASSERT_GT(expected, 0.0f);
  std::vector<float> products(static_cast<size_t>(replicas()));
  strategy.run([&](Replica& replica) { products[static_cast<size_t>(replica.id)] = tiny * factor; }, nullptr);
  EXPECT_EQ(products, std::vector<float>(products.size(), expected));
}

TEST_P(InProcessTest, GradientsOfAllReplicasAreSummedAndAppliedOnce) {
  InProcessStrategy strategy(own_options());
  const Variable weight = make_variable(strategy.store(), "w", {20}, 100);
  PlainDescent rule({weight}, 0.5);
  for (int step = 1; step <= 5; ++step) {
    strategy.run(step_of(weight), &rule);
    strategy.update(rule);
    const float expected = 100.0f - 0.5f * static_cast<float>(step * replicas());
    for (size_t copy = 0; copy < weight.num_copies(); ++copy)
      ASSERT_EQ(floats(weight.value(copy)), std::vector<float>(20, expected));
  }
  EXPECT_EQ(rule.steps, 5);
}

TEST_P(InProcessTest, GatheredGradientsAreAppliedAtTheEnd) {
  InProcessStrategy strategy(own_options());
  const Variable weight = make_variable(strategy.store(), "w", {20}, 0);
  PlainDescent rule({weight}, 1.0, 3);
  const auto replica_sum = static_cast<float>(replicas());
  for (int step = 1; step <= 6; ++step) {
    strategy.run(step_of(weight), &rule);
    strategy.update(rule);
    EXPECT_EQ(floats(weight.value()),
              std::vector<float>(20, -replica_sum * static_cast<float>(step / 3 * 3)));
  }
}

TEST_P(InProcessTest, AThrowingReplicaIsNamedAndTheStrategyStaysUsable) {
  InProcessStrategy strategy(own_options());
  const Variable weight = make_variable(strategy.store(), "w", {4}, 0);
  PlainDescent rule({weight}, 1.0);
  for (int guilty = 0; guilty < replicas(); ++guilty) {
    try {
      strategy.run(
          [&](Replica& replica) {
            const Tensor value = replica.tape->watch(weight.value(), weight.node().leaf);
            const Tensor loss = ops::sum(value);
            if (replica.id == guilty) throw ShapeError("the shoe does not fit");
            if (replica.context) replica.context->all_reduce_sum(loss.detached());
            backward(*replica.tape, loss, *replica.gradients);
          },
          &rule);
      FAIL() << "the error was lost";
    } catch (const ShapeError& error) {
      EXPECT_THAT(error.what(), HasSubstr("the shoe does not fit"));
      if (replicas() > 1) {
        const std::string id = std::to_string(guilty);
        EXPECT_THAT(error.what(), HasSubstr("replica " + id + " on cpu:" + id));
      }
    }
    const int before = rule.steps;
    EXPECT_THROW(strategy.update(rule), StateError);
    EXPECT_EQ(rule.steps, before);
    strategy.run(step_of(weight), &rule);
    strategy.update(rule);
    EXPECT_EQ(floats(weight.value()), std::vector<float>(4, -static_cast<float>(replicas() * (guilty + 1))));
  }
}

TEST_P(InProcessTest, ForeignExceptionsComeOutToo) {
  InProcessStrategy strategy(own_options());
  const auto fails = [&] { strategy.run([](Replica&) { throw std::runtime_error("not ours"); }, nullptr); };
  try {
    fails();
    FAIL() << "the error was lost";
  } catch (const std::exception& error) {
    EXPECT_THAT(error.what(), HasSubstr("not ours"));
  }
  int calls = 0;
  std::mutex mutex;
  strategy.run(
      [&](Replica&) {
        std::lock_guard lock(mutex);
        ++calls;
      },
      nullptr);
  EXPECT_EQ(calls, replicas());
}

TEST_P(InProcessTest, AnErrorInASliceOfTheUpdateComesOut) {
  InProcessStrategy strategy(own_options());
  const Variable weight = make_variable(strategy.store(), "w", {4}, 0);
  PlainDescent rule({weight}, 1.0);
  rule.in_slices = [](int) { throw OutOfMemoryError("no slot left"); };
  strategy.run(step_of(weight), &rule);
  EXPECT_THROW(strategy.update(rule), OutOfMemoryError);
  rule.in_slices = nullptr;
  strategy.run(step_of(weight), &rule);
  EXPECT_NO_THROW(strategy.update(rule));
}

TEST_P(InProcessTest, AStepInsideAStepIsAnError) {
  InProcessStrategy strategy(own_options());
  const Variable weight = make_variable(strategy.store(), "w", {4}, 0);
  PlainDescent rule({weight}, 1.0);
  EXPECT_THROW(strategy.run([&](Replica&) { strategy.run(step_of(weight), &rule); }, &rule), StateError);
  strategy.run(step_of(weight), &rule);
  strategy.update(rule);
  EXPECT_EQ(floats(weight.value()), std::vector<float>(4, -static_cast<float>(replicas())));
}

TEST_P(InProcessTest, UpdateWithoutARunIsAnError) {
  InProcessStrategy strategy(own_options());
  const Variable weight = make_variable(strategy.store(), "w", {4}, 0);
  PlainDescent rule({weight}, 1.0);
  EXPECT_THROW(strategy.update(rule), StateError);
  strategy.run(step_of(weight), &rule);
  strategy.update(rule);
  EXPECT_THROW(strategy.update(rule), StateError);
  EXPECT_EQ(rule.applied, std::get<1>(GetParam()) || replicas() == 1 ? 1 : replicas());
}

/// Two models of one strategy, trained from two threads, while a third thread makes and drops variables.
TEST_P(InProcessTest, ThreadsTakeTurns) {
  InProcessStrategy strategy(own_options());
  std::atomic<bool> stop{false};
  std::thread maker([&] {
    for (int i = 0; !stop; i = (i + 1) % 50) make_variable(strategy.store(), "other", {1 + 5000 * i}, i);
  });
  std::vector<Variable> weights;
  for (int t = 0; t < 3; ++t) weights.push_back(make_variable(strategy.store(), "w", {10 + t}, 0));
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&, t] {
      PlainDescent rule({weights[static_cast<size_t>(t)]}, 1.0);
      for (int step = 0; step < 60; ++step) {
        strategy.run(step_of(weights[static_cast<size_t>(t)], t + 1.0), &rule);
        strategy.update(rule);
      }
    });
  for (std::thread& thread : threads) thread.join();
  stop = true;
  maker.join();
  for (int t = 0; t < 3; ++t)
    for (size_t copy = 0; copy < weights[0].num_copies(); ++copy)
      EXPECT_EQ(
          floats(weights[static_cast<size_t>(t)].value(copy)),
          std::vector<float>(static_cast<size_t>(10 + t), -60.0f * static_cast<float>((t + 1) * replicas())));
}

INSTANTIATE_TEST_SUITE_P(All, InProcessTest,
                         ::testing::Combine(::testing::Values(1, 2, 3, 4, 7), ::testing::Bool()));

TEST(InProcessGhostTest, TrainsOnAsynchronousDevices) {
  enable_ghost_device();
  InProcessStrategy strategy({.name = "ghosts", .devices = {"ghost:0", "ghost:1"}});
  EXPECT_THAT(strategy.describe(), HasSubstr("mirrored"));
  const Variable weight = make_variable(strategy.store(), "w", {20}, 10);
  PlainDescent rule({weight}, 0.25);
  for (int step = 0; step < 8; ++step) {
    strategy.run(step_of(weight), &rule);
    strategy.update(rule);
  }
  for (size_t copy = 0; copy < 2; ++copy) EXPECT_EQ(floats(weight.value(copy)), std::vector<float>(20, 6));
}

/// A single replica that only computes needs no turn: several threads may be inside at once, also within a
/// step.
TEST(InProcessAloneTest, RunsWithoutARuleDoNotExcludeEachOther) {
  InProcessStrategy strategy({.name = "one", .devices = {"cpu:0"}});
  std::atomic<int> inside{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t)
    threads.emplace_back([&] {
      strategy.run(
          [&](Replica&) {
            ++inside;
            while (inside < 2) std::this_thread::yield();
          },
          nullptr);
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(inside, 2);
  EXPECT_EQ(default_strategy("cpu:0"), default_strategy("cpu:0"));
}

}  // namespace

}  // namespace nyala::in_process_test
