#include <map>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/reduction/reduction.h>
#include <nyala/tests/strategies/strategy_kinds.h>

namespace nyala {

namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

Tensor on(const ReplicaContext& replica, double value) {
  return Tensor::full({2}, value, DType::float32, replica.device);
}

class Run : public OnStrategies {
 protected:
  static PerReplica<> ids(const Strategy& strategy, double first = 0) {
    return strategy.run([first](ReplicaContext& replica) { return on(replica, replica.id + first); });
  }
};

TEST_P(Run, WhatAnotherNumberOfReplicasHasIsRefused) {
  const Strategy under_test = strategy();
  const int others = replicas() == 1 ? 2 : replicas() - 1;
  const Strategy other = make_strategy({"", "cpu", others, SharedWeights::automatic});
  const DistributedBatch batch = other.distribute(Batch{{Tensor::zeros({8, 2})}, {Tensor::zeros({8})}});
  const auto expect_refused = [&](const auto& call) {
    EXPECT_THAT(error_text<InvalidArgumentError>(call),
                AllOf(HasSubstr("distributed to " + std::to_string(others) + " replicas"),
                      HasSubstr("has " + std::to_string(replicas()))));
  };
  expect_refused([&] { under_test.run([](const Batch&) { ADD_FAILURE(); }, batch); });
  expect_refused([&] { under_test.run([](const Tensor&) { ADD_FAILURE(); }, ids(other)); });
  expect_refused([&] { under_test.run([](const Tensors&) { ADD_FAILURE(); }, std::vector{ids(other)}); });
  expect_refused([&] { under_test.local_results(batch); });
  const Variable variable = under_test.scope([] { return Variable(Tensor({1, 2})); });
  expect_refused([&] {
    under_test.update(
        variable, [](const Tensor&, const Tensor&) { ADD_FAILURE(); }, ids(other));
  });
  other.run([](const Batch& part) { EXPECT_LE(part.x[0].shape()[0], 8); }, batch);
}

TEST_P(Run, OpensDistributedArgumentsAndPassesOthers) {
  const Strategy under_test = strategy();
  const PerReplica<> values = ids(under_test, 1);
  const Mirrored<> same = under_test.mirror(Tensor({10, 20}));
  const auto sums = under_test.run(
      [](ReplicaContext& replica, const Tensor& own, const Tensor& mirrored, double plain,
         const std::string& text) {
        EXPECT_EQ(own.device(), replica.device);
        EXPECT_EQ(mirrored.device(), replica.device);
        EXPECT_EQ(text, "plain");
        return own + mirrored * plain;
      },
      values, same, 0.5, std::string("plain"));
  for (int id = 0; id < replicas(); ++id)
    EXPECT_EQ(numbers(sums[static_cast<size_t>(id)]), std::vector<float>({6.0f + id, 11.0f + id}));
}

TEST_P(Run, OpensNests) {
  const Strategy under_test = strategy();
  const std::vector<PerReplica<>> list{ids(under_test), ids(under_test, 10)};
  const auto pair = std::pair{ids(under_test, 5), 3};
  const std::map<std::string, PerReplica<>> dict{{"a", ids(under_test, 7)}};
  const auto sums = under_test.run(
      [](const std::vector<Tensor>& tensors, const std::pair<Tensor, int>& both,
         const std::map<std::string, Tensor>& named) {
        return tensors[0] + tensors[1] + both.first * static_cast<double>(both.second) + named.at("a");
      },
      list, pair, dict);
  for (int id = 0; id < replicas(); ++id)
    EXPECT_EQ(numbers(sums[static_cast<size_t>(id)])[0], 6.0f * static_cast<float>(id) + 32.0f);
}

TEST_P(Run, ReturnsTheNestWithPerReplicaLeaves) {
  const Strategy under_test = strategy();
  const auto [tensor, number, list] = under_test.run([](ReplicaContext& replica) {
    return std::tuple{on(replica, replica.id), 2 * replica.id,
                      std::vector<Tensor>{on(replica, 1), on(replica, replica.id + 10)}};
  });
  static_assert(std::is_same_v<std::decay_t<decltype(tensor)>, PerReplica<Tensor>>);
  static_assert(std::is_same_v<std::decay_t<decltype(number)>, PerReplica<int>>);
  static_assert(std::is_same_v<std::decay_t<decltype(list)>, std::vector<PerReplica<Tensor>>>);
  ASSERT_EQ(list.size(), 2u);
  for (size_t id = 0; id < tensor.size(); ++id) {
    EXPECT_EQ(numbers(tensor[id])[0], static_cast<float>(id));
    EXPECT_EQ(number[id], 2 * static_cast<int>(id));
    EXPECT_EQ(numbers(list[1][id])[0], static_cast<float>(id) + 10);
  }
  const auto named = under_test.run([](ReplicaContext& replica) {
    return std::map<std::string, Tensor>{{"x", on(replica, replica.id)}};
  });
  EXPECT_EQ(named.at("x").size(), static_cast<size_t>(replicas()));
  const auto flags = under_test.run([](ReplicaContext& replica) { return replica.id == 0; });
  EXPECT_TRUE(flags[0]);
  const auto floats = under_test.run(
      [](ReplicaContext& replica) { return std::vector<float>(static_cast<size_t>(replica.id), 1.0f); });
  EXPECT_EQ(floats[0].size(), 0u);
}

TEST_P(Run, ListsOfDifferentLengthsAreAnError) {
  if (replicas() == 1) return;
  const Strategy under_test = strategy();
  EXPECT_THROW((void)under_test.run([](ReplicaContext& replica) {
    return std::vector<Tensor>(static_cast<size_t>(replica.id), on(replica, 0));
  }),
               InvalidArgumentError);
}

TEST_P(Run, ReducesAndGathersNests) {
  const Strategy under_test = strategy();
  const auto results = under_test.run([](ReplicaContext& replica) {
    return std::pair{on(replica, replica.id + 1), static_cast<double>(replica.id)};
  });
  const float n = static_cast<float>(replicas());
  const auto [sum, number] = under_test.reduce("sum", results);
  EXPECT_EQ(numbers(sum)[0], n * (n + 1) / 2);
  EXPECT_EQ(number, n * (n - 1) / 2);
  EXPECT_EQ(under_test.reduce("MEAN", results.second), (n - 1) / 2);
  EXPECT_EQ(under_test.gather(std::vector{results.first})[0].shape(), Shape({2 * replicas()}));
}

TEST_P(Run, LocalResults) {
  const Strategy under_test = strategy();
  EXPECT_EQ(under_test.local_results(7), std::vector<int>{7});
  EXPECT_EQ(under_test.local_results(ids(under_test)).size(), static_cast<size_t>(replicas()));
  const auto nests = under_test.local_results(std::pair{ids(under_test, 3), 1});
  ASSERT_EQ(nests.size(), static_cast<size_t>(replicas()));
  EXPECT_EQ(numbers(nests.back().first)[0], static_cast<float>(replicas()) + 2);
  EXPECT_EQ(nests.back().second, 1);
}

TEST_P(Run, ValuesFromAFunction) {
  const Strategy under_test = strategy();
  const PerReplica<> values = under_test.distribute_values_from_function([&](const ValueContext& context) {
    EXPECT_EQ(context.num_replicas_in_sync, replicas());
    return Tensor({static_cast<float>(context.replica_id_in_sync_group)});
  });
  for (int id = 0; id < replicas(); ++id) {
    EXPECT_EQ(values[static_cast<size_t>(id)].device(), under_test.node().device(id));
    EXPECT_EQ(values[static_cast<size_t>(id)].item(), id);
  }
}

TEST_P(Run, AnErrorNamesReplicaAndDeviceAndTheStrategyGoesOn) {
  const Strategy under_test = strategy();
  const int last = replicas() - 1;
  for (int attempt = 0; attempt < 100; ++attempt) {
    const std::string text = error_text<NumericError>([&] {
      under_test.run([&](ReplicaContext& replica) {
        Tensor x = replica.all_reduce(ReduceOp::sum, on(replica, 1));
        if (replica.id == last) throw NumericError("layer 'broken': no number");
        x = replica.all_reduce(ReduceOp::sum, x);  // the others wait here
        replica.merge_call([](const Strategy&) {});
      });
    });
    EXPECT_THAT(text, HasSubstr("layer 'broken': no number"));
    if (replicas() > 1) {
      const std::string device = under_test.node().device(last).to_string();
      EXPECT_THAT(text, HasSubstr("replica " + std::to_string(last) + " on " + device));
    }
    const PerReplica<> sums = under_test.run(
        [](ReplicaContext& replica) { return replica.all_reduce(ReduceOp::sum, on(replica, 1)); });
    EXPECT_EQ(numbers(sums[0])[0], static_cast<float>(replicas()));
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, Run, ::testing::ValuesIn(strategy_kinds()), kind_name);

}  // namespace

}  // namespace nyala
