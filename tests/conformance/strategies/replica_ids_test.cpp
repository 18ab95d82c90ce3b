// Global id against local index without other processes: replicas 2, 3 of five, alone in a strategy of their
// own, have the rows and draw the numbers of replicas 2, 3 of a run of five.
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/api/layers/core/input.h>
#include <nyala/api/layers/regularization/dropout.h>
#include <nyala/api/model/model.h>
#include <nyala/api/training/training_pass.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/replica_exchange.h>
#include <nyala/backend/runtime/device_registry.h>
#include <nyala/backend/runtime/random.h>
#include <nyala/strategies/generator.h>
#include <nyala/strategies/in_process.h>
#include <nyala/tests/strategies/plain_descent.h>
#include <nyala/tests/support/error_text.h>

namespace nyala::replica_ids_test {

namespace {

using ::testing::HasSubstr;

constexpr int kAll = 5, kFirst = 2, kLocal = 2;

Strategy strategy_of(int replicas, ReplicaIds ids = {}) {
  InProcessOptions options{.name = "test", .devices = {}, .ids = ids};
  for (int i = 0; i < replicas; ++i) options.devices.push_back(Device("cpu:" + std::to_string(i)));
  return Strategy(std::make_shared<InProcessStrategy>(options));
}

struct LogicalDevices {
  LogicalDevices() { configure_logical_devices("cpu", kAll); }
  ~LogicalDevices() { configure_logical_devices("cpu", 1); }
};

class ReplicaIdsTest : public ::testing::Test {
 protected:
  const LogicalDevices devices_;
  const Strategy whole_ = strategy_of(kAll), part_ = strategy_of(kLocal, {kFirst, kAll});
};

/// What `replica` of each of the local ones saw in `part` is what those of the whole saw.
template <class T>
void expect_same(const std::vector<T>& part, const std::vector<T>& whole) {
  ASSERT_EQ(part.size(), static_cast<size_t>(kLocal));
  ASSERT_EQ(whole.size(), static_cast<size_t>(kAll));
  for (size_t i = 0; i < part.size(); ++i) EXPECT_EQ(part[i], whole[kFirst + i]) << i;
}

template <class T, class Body>
std::vector<T> of_replicas(const Strategy& strategy, Body&& body) {
  const auto values = strategy.run([&](Replica& replica) { return std::pair{body(replica), 0}; }).first;
  return {values.begin(), values.end()};
}

TEST_F(ReplicaIdsTest, ReplicasKnowBothOfTheirPlaces) {
  EXPECT_EQ(part_.num_replicas_in_sync(), kAll);
  EXPECT_EQ(part_.num_local_replicas(), kLocal);
  part_.run([](Replica& replica) {
    EXPECT_EQ(replica.id, kFirst + replica.local_index);
    EXPECT_EQ(replica.replica_id_in_sync_group(), replica.id);
    EXPECT_EQ(replica.num_replicas_in_sync(), kAll);
    EXPECT_EQ(replica.device, Device("cpu:" + std::to_string(replica.local_index)));
    EXPECT_EQ(replica.context->replica_id(), replica.id);
    EXPECT_EQ(replica.context->local_index(), replica.local_index);
    EXPECT_EQ(replica.context->num_replicas(), kAll);
    EXPECT_EQ(replica.context->num_local_replicas(), kLocal);
  });
}

TEST_F(ReplicaIdsTest, RowsAreThoseOfTheGlobalId) {
  for (const int64_t rows : {0, 1, 3, 7, 10, 13}) {
    std::vector<int64_t> counted(static_cast<size_t>(rows));
    std::iota(counted.begin(), counted.end(), 0);
    const Batch numbers{.x = {Tensor::from(counted)}};
    const DistributedBatch part = part_.distribute(numbers), whole = whole_.distribute(numbers);
    EXPECT_EQ(part.rows, rows);
    ASSERT_EQ(part.parts.size(), static_cast<size_t>(kLocal));
    int64_t before = 0;
    for (int i = 0; i < kFirst; ++i) before += whole.parts[static_cast<size_t>(i)].x[0].shape()[0];
    EXPECT_EQ(part.first_row, before);
    for (size_t i = 0; i < kLocal; ++i)
      EXPECT_EQ(part.parts[i].x[0].to_vector<int64_t>(),
                whole.parts[kFirst + i].x[0].to_vector<int64_t>());
  }
}

TEST_F(ReplicaIdsTest, DropoutDrawsWhatTheReplicaOfTheGlobalIdDraws) {
  std::vector<std::vector<float>> of_strategy[2];
  for (const bool all : {true, false}) {
    clear_session();
    set_random_seed(3);
    const Strategy& strategy = all ? whole_ : part_;
    const Layer dropout = strategy.scope([] { return Layer(Sequential({Input({9}), Dropout(0.5)})); });
    const DistributedBatch batch = strategy.distribute(Batch{.x = {Tensor::full({13, 9}, 1.0)}});
    of_strategy[all] = of_replicas<std::vector<float>>(strategy, [&](Replica& replica) {
      TrainingPass pass(batch, 4);
      return pass(dropout, batch.parts[static_cast<size_t>(replica.local_index)].x[0]).to_vector<float>();
    });
  }
  expect_same(of_strategy[false], of_strategy[true]);
}

TEST_F(ReplicaIdsTest, StreamsOfGeneratorsAreThoseOfTheGlobalId) {
  std::vector<std::vector<float>> of_strategy[2];
  for (const bool all : {true, false}) {
    const Strategy& strategy = all ? whole_ : part_;
    const Generator generator = strategy.scope([] { return Generator::from_seed(7); });
    of_strategy[all] = of_replicas<std::vector<float>>(
        strategy, [&](Replica&) { return generator.normal({4}).to_vector<float>(); });
  }
  expect_same(of_strategy[false], of_strategy[true]);
}

TEST_F(ReplicaIdsTest, ValuesFromAFunctionAreMadeForTheGlobalId) {
  const auto values = part_.distribute_values_from_function([](const ValueContext& context) {
    EXPECT_EQ(context.num_replicas_in_sync, kAll);
    return Tensor::full({1}, context.replica_id_in_sync_group);
  });
  ASSERT_EQ(values.size(), static_cast<size_t>(kLocal));
  EXPECT_EQ(values[1].item(), kFirst + 1);
}

TEST_F(ReplicaIdsTest, CopiesOfVariablesAreThoseOfTheLocalIndex) {
  const Variable sum = part_.scope([] {
    return Variable(Tensor::zeros({1}), {.trainable = false,
                                         .aggregation = Aggregation::sum,
                                         .synchronization = Synchronization::on_read});
  });
  ASSERT_EQ(sum.num_copies(), static_cast<size_t>(kLocal));
  part_.run(
      [&](Replica& replica) { sum.assign(Tensor::full({1}, replica.id, DType::float32, replica.device)); });
  for (size_t i = 0; i < kLocal; ++i) EXPECT_EQ(sum.value(i).item(), static_cast<double>(kFirst + i));
}

TEST_F(ReplicaIdsTest, WhatNeedsTheOthersSaysThatNothingReachesThem) {
  const auto refused = HasSubstr("3 of the 5 replicas are in other processes");
  EXPECT_THAT(error_text<StateError>([&] {
                part_.run([](Replica& replica) { replica.all_reduce(ReduceOp::sum, Tensor::full({1}, 1)); });
              }),
              refused);
  const Variable weight = make_variable(part_.node().store(), "w", {2}, 1);
  PlainDescent rule({weight}, 1.0);
  EXPECT_THAT(error_text<StateError>([&] { part_.node().run([](Replica&) {}, &rule); }), refused);
  const PerReplica values{Tensor::full({1}, 1), Tensor::full({1}, 1)};
  EXPECT_THAT(error_text<StateError>([&] { part_.reduce(ReduceOp::sum, values); }), refused);
  EXPECT_THAT(error_text<StateError>([&] { part_.gather(values); }), refused);
}

TEST_F(ReplicaIdsTest, ErrorsNameTheGlobalId) {
  EXPECT_THAT(error_text<ShapeError>([&] {
                part_.run([](Replica& replica) {
                  if (replica.local_index == 1) throw ShapeError("too wide");
                });
              }),
              HasSubstr("replica 3 on cpu:1: too wide"));
}

}  // namespace

}  // namespace nyala::replica_ids_test
