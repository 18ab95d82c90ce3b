// Where CentralStorageStrategy keeps things and how they get there. That trainings give the numbers of one
// device is tested in tests/conformance/strategies.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/backend/autograd/backward.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/elementwise/binary.h>
#include <nyala/backend/ops/reduction/reduction.h>
#include <nyala/backend/runtime/device_registry.h>
#include <nyala/strategies/central_storage.h>
#include <nyala/strategies/cross_device/all.h>
#include <nyala/tests/strategies/plain_descent.h>
#include <nyala/tests/support/error_text.h>

namespace nyala {

namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// loss = (replica + 1) * sum(weight) on every replica; also checks that replicas read the present weights.
std::function<void(Replica&)> step_of(const Variable& weight, float expected) {
  return [weight, expected](Replica& replica) {
    const Tensor& own = weight.value(static_cast<size_t>(replica.id));
    EXPECT_EQ(own.device(), replica.device);
    EXPECT_EQ(own.to_vector<float>(), std::vector<float>(20, expected)) << "replica " << replica.id;
    const Tensor value = replica.tape->watch(own, weight.node().leaf);
    backward(*replica.tape, ops::sum(value) * static_cast<double>(replica.id + 1), *replica.gradients);
  };
}

class CentralStorageTest : public ::testing::Test {
 protected:
  void SetUp() override { configure_logical_devices("cpu", 4); }
  void TearDown() override { configure_logical_devices("cpu", 1); }

  static void train(const Strategy& strategy) {
    StrategyNode& node = strategy.node();
    const int replicas = strategy.num_replicas_in_sync();
    const Variable weight = make_variable(node.store(), "w", {20}, 100);
    PlainDescent rule({weight}, 0.5);
    float expected = 100;
    for (int step = 0; step < 4; ++step) {
      node.run(step_of(weight, expected), &rule);
      node.update(rule);
      expected -= 0.5f * static_cast<float>(replicas * (replicas + 1) / 2);
      EXPECT_EQ(weight.value().to_vector<float>(), std::vector<float>(20, expected));
    }
    EXPECT_EQ(rule.applied, 4) << "one update per step, for one copy";
    EXPECT_EQ(node.store().num_weight_copies(), 1);
  }
};

TEST_F(CentralStorageTest, OneUpdateOfOneCopyReachesEveryReplica) {
  train(CentralStorageStrategy());
  train(CentralStorageStrategy({.compute_devices = {"cpu:2"}}));
  train(CentralStorageStrategy({.compute_devices = {"cpu:1", "cpu:2", "cpu:3"}}));
  train(CentralStorageStrategy({.compute_devices = {"cpu:1", "cpu:0"}, .parameter_device = "cpu:3"}));
  train(CentralStorageStrategy(
      {.compute_devices = {"cpu:0", "cpu:1", "cpu:2"}, .cross_device_ops = RingAllReduce()}));
}

TEST_F(CentralStorageTest, DevicesThatCannotReadTheParametersFetchThem) {
  enable_ghost_device();
  train(CentralStorageStrategy({.compute_devices = {"ghost:0", "ghost:1"}}));
  train(CentralStorageStrategy({.compute_devices = {"ghost:0"}}));
  train(CentralStorageStrategy({.compute_devices = {"ghost:0"}, .parameter_device = "cpu:0"}));
  train(CentralStorageStrategy({.compute_devices = {"ghost:0", "ghost:1"}, .parameter_device = "ghost:1"}));
  train(CentralStorageStrategy({.compute_devices = {"ghost:0", "cpu:1", "cpu:0"}}));
  train(CentralStorageStrategy({.compute_devices = {"cpu:1", "ghost:0"}}));
  train(CentralStorageStrategy({.compute_devices = {"cpu:1", "ghost:0"}, .parameter_device = "ghost:2"}));
}

TEST_F(CentralStorageTest, DefaultDevices) {
  const auto parameters = [](const CentralStorageStrategyConfig& config) {
    return CentralStorageStrategy(config).node().store().parameter_device()->to_string();
  };
  EXPECT_EQ(parameters({}), "cpu:0");
  EXPECT_EQ(parameters({.compute_devices = {"cpu:2"}}), "cpu:2");
  EXPECT_EQ(parameters({.compute_devices = {"cpu:2", "cpu:3"}}), "cpu:0");
  EXPECT_EQ(parameters({.compute_devices = {"cpu:2", "cpu:3"}, .parameter_device = "cpu:3"}), "cpu:3");
  EXPECT_EQ(CentralStorageStrategy().num_replicas_in_sync(), 1);
}

TEST_F(CentralStorageTest, CpusShareTheBytesOfWeightsAndOfState) {
  const CentralStorageStrategy strategy({.compute_devices = {"cpu:0", "cpu:1"}});
  const Variable weight = make_variable(strategy.node().store(), "w", {3}, 1);
  VariableSpec spec;
  spec.name = spec.path = "state";
  spec.shape = {3};
  spec.trainable = false;
  spec.aggregation = Aggregation::mean;
  const Variable state = strategy.node().store().create(spec);
  for (const Variable& variable : {weight, state}) {
    ASSERT_EQ(variable.num_copies(), 2u);
    EXPECT_EQ(variable.value(0).raw(), variable.value(1).raw());
    EXPECT_EQ(variable.value(1).device(), Device("cpu:1"));
    variable.assign(Tensor{1, 2, 3});
    EXPECT_EQ(floats(variable.value(1)), std::vector<float>({1, 2, 3}));
  }
}

TEST_F(CentralStorageTest, AssignedValuesReachFetchedCopies) {
  enable_ghost_device();
  const CentralStorageStrategy strategy({.compute_devices = {"ghost:0", "ghost:1"}});
  const Variable weight = make_variable(strategy.node().store(), "w", {3}, 1);
  weight.assign(Tensor{1, 2, 3});
  for (size_t replica : {0u, 1u}) EXPECT_EQ(floats(weight.value(replica)), std::vector<float>({1, 2, 3}));
  EXPECT_EQ(floats(strategy.node().store().weights(0, DType::float32, weight.node().segment)),
            std::vector<float>({1, 2, 3}));
}

TEST_F(CentralStorageTest, AGatheringStepLeavesTheSumAlone) {
  const CentralStorageStrategy strategy({.compute_devices = {"cpu:0", "cpu:1"}});
  const Variable weight = make_variable(strategy.node().store(), "w", {20}, 0);
  PlainDescent rule({weight}, 1.0, 3);
  for (int step = 0; step < 3; ++step) {
    strategy.node().run(step_of(weight, 0), &rule);
    strategy.node().update(rule);
  }
  EXPECT_EQ(floats(weight.value()), std::vector<float>(20, -9));
  EXPECT_EQ(rule.applied, 1);
}

TEST_F(CentralStorageTest, DescribesItself) {
  const CentralStorageStrategy strategy({.compute_devices = {"cpu:1", "cpu:2"}});
  EXPECT_THAT(strategy.describe(), AllOf(HasSubstr("CentralStorageStrategy: 2 replicas on cpu:1, cpu:2"),
                                         HasSubstr("one copy on cpu:0"), HasSubstr("DirectAllReduce")));
}

TEST_F(CentralStorageTest, Errors) {
  EXPECT_THAT(error_text<InvalidArgumentError>([] {
                CentralStorageStrategy({.compute_devices = {"cpu:1", "cpu:1"}});
              }),
              AllOf(HasSubstr("cpu:1"), HasSubstr("twice"), HasSubstr("cpu:3")));
  EXPECT_THAT(error_text<DeviceNotFoundError>([] { CentralStorageStrategy({.compute_devices = {"gpu:7"}}); }),
              HasSubstr("cpu:3"));
  EXPECT_THAT(error_text<DeviceNotFoundError>([] { CentralStorageStrategy({.parameter_device = "cpu:9"}); }),
              AllOf(HasSubstr("cpu:9"), HasSubstr("cpu:3")));
  EXPECT_THROW(
      CentralStorageStrategy({.compute_devices = {"cpu:0", "cpu:1"}, .cross_device_ops = NcclAllReduce()}),
      InvalidArgumentError);
}

}  // namespace

}  // namespace nyala
