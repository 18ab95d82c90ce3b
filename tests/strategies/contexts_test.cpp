#include <memory>
#include <optional>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/strategies/one_device.h>
#include <nyala/tests/strategies/strategy_kinds.h>

namespace nyala {

using namespace nyala::detail;

namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class Contexts : public OnStrategies {};

TEST_P(Contexts, OutsideEverythingThereIsReplica0Of1) {
  EXPECT_FALSE(has_strategy());
  EXPECT_FALSE(in_cross_replica_context());
  ReplicaContext* context = get_replica_context();
  ASSERT_NE(context, nullptr);
  EXPECT_EQ(context->replica_id_in_sync_group(), 0);
  EXPECT_EQ(context->num_replicas_in_sync(), 1);
  EXPECT_EQ(get_strategy().num_replicas_in_sync(), 1);
  EXPECT_EQ(get_update_replica_id(), std::nullopt);
  EXPECT_EQ(numbers(context->all_reduce(ReduceOp::sum, Tensor({1, 2}))), std::vector<float>({1, 2}));
  EXPECT_EQ(numbers(context->all_gather(Tensor({1, 2}))), std::vector<float>({1, 2}));
  EXPECT_EQ(context->merge_call([](const Strategy&, const PerReplica<int>& ids) { return ids[0] + 1; }, 4),
            5);
}

TEST_P(Contexts, InAScopeIsCrossReplica) {
  const Strategy under_test = strategy();
  {
    const auto scope = under_test.scope();
    EXPECT_TRUE(has_strategy());
    EXPECT_EQ(get_replica_context(), nullptr);
    EXPECT_TRUE(in_cross_replica_context());
    EXPECT_EQ(get_strategy(), under_test);
  }
  EXPECT_FALSE(has_strategy());
}

TEST_P(Contexts, AScopeThatEndsOnAnotherThreadIsClosedWhereItBegan) {
  const Strategy under_test = strategy();
  auto scope = std::make_unique<StrategyScope>(under_test.shared());
  auto inner = std::make_unique<StrategyScope>(under_test.shared());
  std::thread([&] {
    scope = nullptr;
    EXPECT_FALSE(has_strategy());
  }).join();
  EXPECT_TRUE(has_strategy()) << "one is open still";
  std::thread([own = std::move(inner)]() mutable { own = nullptr; }).join();
  EXPECT_FALSE(has_strategy());
  EXPECT_EQ(get_strategy().num_replicas_in_sync(), 1);
  const auto other = make_strategy({"", "cpu", 1, SharedWeights::automatic});
  other.scope([&] { EXPECT_EQ(get_strategy(), other); });
  under_test.scope([&] { EXPECT_EQ(get_strategy(), under_test); });
  EXPECT_FALSE(has_strategy());
}

TEST_P(Contexts, InRunEachThreadIsAReplica) {
  const Strategy under_test = strategy();
  const auto seen = under_test.run([&](ReplicaContext& replica) {
    EXPECT_EQ(get_replica_context(), &replica);
    EXPECT_FALSE(in_cross_replica_context());
    EXPECT_TRUE(has_strategy());
    EXPECT_EQ(get_strategy(), under_test);
    EXPECT_EQ(replica.strategy(), under_test);
    EXPECT_EQ(replica.num_replicas_in_sync(), replicas());
    EXPECT_EQ(thread_context().creator, &under_test.node().store());
    return replica.replica_id_in_sync_group();
  });
  for (int id = 0; id < replicas(); ++id) EXPECT_EQ(seen[static_cast<size_t>(id)], id);
  EXPECT_FALSE(has_strategy());
  EXPECT_EQ(thread_context().creator, nullptr);
}

TEST_P(Contexts, RunInTheOwnScopeReturnsToIt) {
  const Strategy under_test = strategy();
  const auto scope = under_test.scope();
  under_test.run([] { EXPECT_FALSE(in_cross_replica_context()); });
  EXPECT_TRUE(in_cross_replica_context());
  EXPECT_EQ(thread_context().creator, &under_test.node().store());
}

TEST_P(Contexts, InMergeCallIsCrossReplica) {
  const Strategy under_test = strategy();
  under_test.run([&](ReplicaContext& replica) {
    replica.merge_call([&](const Strategy& inside) {
      EXPECT_EQ(inside, under_test);
      EXPECT_EQ(get_replica_context(), nullptr);
      EXPECT_TRUE(in_cross_replica_context());
      EXPECT_EQ(get_strategy(), under_test);
      const auto again = inside.scope();
      EXPECT_TRUE(in_cross_replica_context());
    });
    EXPECT_EQ(get_replica_context(), &replica);
  });
}

TEST_P(Contexts, InUpdateTheCopyIsNamed) {
  const Strategy under_test = strategy();
  const Variable variable = under_test.scope([] { return Variable(5.0, {.shape = Shape{2}}); });
  std::vector<int> copies;
  under_test.update(
      variable,
      [&](const Tensor& copy, double number) {
        EXPECT_EQ(get_replica_context(), nullptr);
        EXPECT_TRUE(in_cross_replica_context());
        copies.push_back(get_update_replica_id().value());
        copy.copy_from(Tensor::full({2}, number, DType::float32, copy.device()));
      },
      3.0);
  EXPECT_EQ(get_update_replica_id(), std::nullopt);
  EXPECT_EQ(copies.front(), 0);
  for (int id = 0; id < replicas(); ++id)
    EXPECT_EQ(numbers(variable.value(static_cast<size_t>(id))), std::vector<float>({3, 3}));
}

TEST_P(Contexts, VerbsOfTheStrategyAreRefusedInsideAReplica) {
  const Strategy under_test = strategy();
  const auto refused = [&](const char* verb, const std::function<void()>& call) {
    const std::string text = error_text<StateError>([&] { under_test.run([&] { call(); }); });
    EXPECT_THAT(text, AllOf(HasSubstr(verb), HasSubstr("inside replica "), HasSubstr("merge_call")));
  };
  refused("run()", [&] { under_test.run([] {}); });
  refused("reduce()", [&] { (void)under_test.reduce(ReduceOp::sum, PerReplica<>{Tensor(1.0f)}); });
  refused("scope()", [&] { (void)under_test.scope(); });
  EXPECT_THAT(error_text<StateError>(
                  [&] { under_test.run([&] { (void)under_test.gather(PerReplica<>{Tensor({1})}); }); }),
              HasSubstr("all_gather"));
}

TEST_P(Contexts, StrategiesCannotBeMixed) {
  const Strategy outer = strategy();
  const OneDeviceStrategy inner("cpu:0");
  const auto scope = outer.scope();
  EXPECT_THAT(error_text<StateError>([&] { (void)inner.scope(); }),
              AllOf(HasSubstr("OneDeviceStrategy"), HasSubstr("MirroredStrategy"), HasSubstr("mixed")));
  EXPECT_THAT(error_text<StateError>([&] { inner.run([] {}); }), HasSubstr("mixed"));
  EXPECT_EQ(get_strategy(), outer);
}

TEST_P(Contexts, ScopesOfOneStrategyMayEndInAnyOrder) {
  const Strategy under_test = strategy();
  std::optional<StrategyScope> first, second;
  first.emplace(under_test.shared());
  second.emplace(under_test.shared());
  first.reset();
  EXPECT_TRUE(in_cross_replica_context());
  second.reset();
  EXPECT_FALSE(has_strategy());
  EXPECT_EQ(thread_context().creator, nullptr);
}

TEST_P(Contexts, AForeignReplicaContextIsRefused) {
  const Strategy under_test = strategy();
  EXPECT_THAT(error_text<StateError>([&] {
                under_test.run([](ReplicaContext& replica) {
                  const ReplicaContext foreign = replica;
                  foreign.all_reduce(ReduceOp::sum, Tensor(1.0f));
                });
              }),
              HasSubstr("mismatching ReplicaContext"));
  const ReplicaContext unused;
  const auto scope = under_test.scope();
  EXPECT_THAT(error_text<StateError>([&] { unused.all_reduce(ReduceOp::sum, Tensor(1.0f)); }),
              HasSubstr("inside a function that run() calls"));
}

INSTANTIATE_TEST_SUITE_P(Kinds, Contexts, ::testing::ValuesIn(strategy_kinds()), kind_name);

TEST(DefaultStrategy, RunsAsReplica0AndLeavesValuesAlone) {
  const Strategy alone = get_strategy();
  const PerReplica<> doubled = alone.run(
      [](ReplicaContext& replica, const Tensor& x) {
        EXPECT_EQ(replica.id, 0);
        EXPECT_FALSE(has_strategy());
        return x * 2.0;
      },
      Tensor({1, 2}));
  EXPECT_EQ(numbers(alone.reduce(ReduceOp::sum, doubled)), std::vector<float>({2, 4}));
  EXPECT_EQ(numbers(alone.reduce(ReduceOp::sum, Tensor({2, 4}))), std::vector<float>({2, 4}));
  EXPECT_EQ(numbers(alone.gather(doubled)), std::vector<float>({2, 4}));
  const auto scope = alone.scope();
  EXPECT_FALSE(has_strategy());
  EXPECT_NE(get_replica_context(), nullptr);
  EXPECT_THROW((void)OneDeviceStrategy("cpu:0").scope(), StateError);
}

}  // namespace

}  // namespace nyala
