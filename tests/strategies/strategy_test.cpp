#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/creation.h>
#include <nyala/backend/runtime/device_registry.h>
#include <nyala/strategies/mirrored.h>
#include <nyala/strategies/one_device.h>
#include <nyala/tests/strategies/plain_descent.h>
#include <nyala/tests/support/error_text.h>

namespace nyala {

using namespace nyala::detail;

namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::vector<std::string> cpu_names(int count) {
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) names.push_back("cpu:" + std::to_string(i));
  return names;
}

class StrategyTest : public ::testing::Test {
 protected:
  void SetUp() override { configure_logical_devices("cpu", 7); }
  void TearDown() override { configure_logical_devices("cpu", 1); }
};

TEST_F(StrategyTest, RowsAreConsecutivePiecesLargerFirst) {
  for (int replicas : {1, 2, 3, 4, 7}) {
    const MirroredStrategy strategy({.devices = cpu_names(replicas)});
    for (int64_t rows = 0; rows < 30; ++rows) {
      int64_t next = 0, previous = rows;
      for (int id = 0; id < replicas; ++id) {
        const RowRange range = strategy.node().rows_of(id, rows);
        EXPECT_EQ(range.first, next);
        EXPECT_LE(range.count, previous);
        EXPECT_TRUE(range.count == rows / replicas || range.count == rows / replicas + 1);
        next += range.count;
        previous = range.count;
      }
      EXPECT_EQ(next, rows);
    }
  }
}

TEST_F(StrategyTest, ShardsShareTheBatchOnCpusAndCopyElsewhere) {
  enable_ghost_device();
  const Tensor batch = Tensor::from(std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, {5, 2});
  const MirroredStrategy cpus({.devices = {"cpu:0", "cpu:1", "cpu:2"}});
  const Tensor second = cpus.node().shard(batch, 1);
  EXPECT_EQ(second.raw(), static_cast<float*>(batch.raw()) + 4);
  EXPECT_EQ(second.device(), Device("cpu:1"));
  EXPECT_EQ(floats(second), std::vector<float>({4, 5, 6, 7}));
  EXPECT_EQ(floats(cpus.node().shard(batch, 2)), std::vector<float>({8, 9}));
  const MirroredStrategy ghosts({.devices = {"ghost:0", "ghost:1"}});
  const Tensor last = ghosts.node().shard(batch, 1);
  EXPECT_EQ(last.device(), Device("ghost:1"));
  EXPECT_EQ(floats(last), std::vector<float>({6, 7, 8, 9}));
}

TEST_F(StrategyTest, AReplicaBeyondTheRowsGetsAnEmptyShard) {
  const MirroredStrategy strategy({.devices = cpu_names(4)});
  const Tensor shard = strategy.node().shard(Tensor::zeros({2, 3}), 3);
  EXPECT_EQ(shard.shape(), Shape({0, 3}));
}

TEST_F(StrategyTest, ReduceAndGather) {
  enable_ghost_device();
  for (const auto& devices :
       {cpu_names(4), std::vector<std::string>{"ghost:0", "ghost:1", "ghost:2", "ghost:3"}}) {
    const MirroredStrategy strategy({.devices = devices});
    const PerReplica values = strategy.run([](Replica& replica) {
      return Tensor::full({1 + replica.id, 2}, replica.id + 1.0, DType::float32, replica.device);
    });
    EXPECT_EQ(floats(strategy.gather(values)),
              std::vector<float>({1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 4, 4, 4, 4, 4, 4, 4, 4}));
    const PerReplica ids = strategy.run(
        [](Replica& replica) { return Tensor::full({2}, replica.id + 1.0, DType::float32, replica.device); });
    EXPECT_EQ(floats(strategy.reduce(ReduceOp::sum, ids)), std::vector<float>({10, 10}));
    EXPECT_EQ(floats(strategy.reduce(ReduceOp::mean, ids)), std::vector<float>({2.5, 2.5}));
    EXPECT_EQ(strategy.gather(ids, 0).shape(), Shape({8}));
  }
  const MirroredStrategy two({.devices = cpu_names(2)});
  const PerReplica tables = two.run([](Replica& replica) { return Tensor::full({1, 2, 3}, replica.id); });
  EXPECT_EQ(two.gather(tables, 0).shape(), Shape({2, 2, 3}));
  EXPECT_EQ(two.gather(tables, 1).shape(), Shape({1, 4, 3}));
  EXPECT_EQ(two.gather(tables, -1).shape(), Shape({1, 2, 6}));
  EXPECT_THROW(two.reduce(ReduceOp::sum, PerReplica<>()), InvalidArgumentError);
  EXPECT_THROW(two.gather(PerReplica<>()), InvalidArgumentError);
}

TEST_F(StrategyTest, RunGivesEachReplicaItsPlace) {
  const MirroredStrategy strategy({.devices = cpu_names(3)});
  EXPECT_EQ(strategy.num_replicas_in_sync(), 3);
  std::vector<int> ids(3, -1);
  strategy.run([&](Replica& replica) {
    EXPECT_EQ(replica.num_replicas, 3);
    EXPECT_EQ(replica.device, Device("cpu:" + std::to_string(replica.id)));
    EXPECT_EQ(replica.context->replica_id(), replica.id);
    EXPECT_EQ(thread_context().replica, replica.context);
    ids[static_cast<size_t>(replica.id)] = replica.id;
  });
  EXPECT_EQ(ids, std::vector<int>({0, 1, 2}));
  EXPECT_EQ(thread_context().replica, nullptr);
}

TEST_F(StrategyTest, DescribeNamesDevicesAndStorage) {
  EXPECT_THAT(MirroredStrategy({.devices = cpu_names(2)}).describe(),
              AllOf(HasSubstr("MirroredStrategy"), HasSubstr("2 replicas"), HasSubstr("cpu:0, cpu:1"),
                    HasSubstr("shared")));
  EXPECT_THAT(MirroredStrategy({.devices = cpu_names(2), .shared_weights = SharedWeights::never}).describe(),
              HasSubstr("mirrored"));
  EXPECT_THAT(OneDeviceStrategy("cpu:3").describe(),
              AllOf(HasSubstr("1 replica on cpu:3"), HasSubstr("OneDevice")));
}

TEST_F(StrategyTest, DevicesNamedTwiceOrUnknownAreErrors) {
  EXPECT_THAT(error_text<InvalidArgumentError>([] {
                MirroredStrategy({.devices = {"cpu:0", "cpu:1", "cpu:0"}});
              }),
              AllOf(HasSubstr("cpu:0"), HasSubstr("twice")));
  EXPECT_THAT(error_text<InvalidArgumentError>([] {
                MirroredStrategy({.devices = {"cpu", "cpu:0"}});
              }),
              HasSubstr("twice"));
  EXPECT_THAT(error_text<DeviceNotFoundError>([] {
                MirroredStrategy({.devices = {"cpu:0", "cpu:9"}});
              }),
              AllOf(HasSubstr("cpu:9"), HasSubstr("cpu:6")));
  EXPECT_THAT(error_text<DeviceNotFoundError>([] { OneDeviceStrategy("gpu:7"); }), HasSubstr("cpu:0"));
  EXPECT_THROW(MirroredStrategy({.devices = {"toaster:0"}}), Error);
}

TEST_F(StrategyTest, WithoutDevicesTheFirstCpuIsTaken) {
  if (!list_logical_devices("gpu").empty()) return;
  EXPECT_EQ(MirroredStrategy().num_replicas_in_sync(), 1);
  EXPECT_THAT(MirroredStrategy().describe(), HasSubstr("cpu:0"));
}

TEST_F(StrategyTest, VariablesOfAScopeBelongToItsStrategy) {
  const MirroredStrategy strategy({.devices = cpu_names(3), .shared_weights = SharedWeights::never});
  EXPECT_FALSE(has_strategy());
  {
    const auto scope = strategy.scope();
    EXPECT_TRUE(has_strategy());
    EXPECT_EQ(current_strategy(), strategy.shared());
    EXPECT_EQ(thread_context().creator, &strategy.node().store());
    const auto again = strategy.scope();  // the same strategy's scope may be opened inside
    EXPECT_EQ(current_strategy(), strategy.shared());
  }
  EXPECT_FALSE(has_strategy());
  EXPECT_EQ(strategy.scope([&] { return current_strategy(); }), strategy.shared());
  EXPECT_EQ(current_strategy()->num_replicas_in_sync(), 1);
}

TEST_F(StrategyTest, AScopeEndsWithAnException) {
  const MirroredStrategy strategy({.devices = cpu_names(2)});
  EXPECT_THROW(strategy.scope([]() -> int { throw StateError("inside"); }), StateError);
  EXPECT_FALSE(has_strategy());
  EXPECT_EQ(thread_context().creator, nullptr);
}

TEST_F(StrategyTest, AScopeInsideAnothersIsAnError) {
  const MirroredStrategy outer({.devices = cpu_names(2)});
  const OneDeviceStrategy inner("cpu:0");
  const auto scope = outer.scope();
  EXPECT_THAT(error_text<StateError>([&] { (void)inner.scope(); }),
              AllOf(HasSubstr("MirroredStrategy"), HasSubstr("OneDeviceStrategy")));
  EXPECT_EQ(current_strategy(), outer.shared());
}

TEST_F(StrategyTest, CopiesOfAHandleNameOneStrategy) {
  const MirroredStrategy strategy({.devices = cpu_names(2)});
  const Strategy copy = strategy;  // NOLINT: slicing a handle loses nothing
  EXPECT_EQ(copy.shared(), strategy.shared());
}

}  // namespace

}  // namespace nyala
