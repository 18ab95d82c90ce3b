#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/backend/autograd/backward.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/core/tape.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/reduction/reduction.h>
#include <nyala/backend/parameters/aggregating_variable.h>
#include <nyala/backend/parameters/mirrored_variable.h>
#include <nyala/backend/parameters/sync_on_read_variable.h>
#include <nyala/backend/runtime/device_registry.h>
#include <nyala/strategies/central_storage.h>
#include <nyala/strategies/mirrored.h>
#include <nyala/strategies/one_device.h>
#include <nyala/tests/strategies/plain_descent.h>
#include <nyala/tests/support/error_text.h>

namespace nyala::distributed_variables_test {

using namespace nyala::detail;

namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Floats = std::vector<float>;

std::vector<std::string> cpus(int count) {
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) names.push_back("cpu:" + std::to_string(i));
  return names;
}

MirroredStrategy mirrored(int replicas, bool shared = true) {
  return MirroredStrategy({.devices = cpus(replicas),
                           .shared_weights = shared ? SharedWeights::automatic : SharedWeights::never});
}

Tensor scalar_on(const Replica& replica, double value) {
  return Tensor::full({}, value, DType::float32, replica.device);
}

class DistributedVariablesTest : public ::testing::Test {
 protected:
  void SetUp() override { configure_logical_devices("cpu", 4); }
  void TearDown() override { configure_logical_devices("cpu", 1); }
};

class StorageTest : public DistributedVariablesTest, public ::testing::WithParamInterface<bool> {};

TEST_F(DistributedVariablesTest, DefaultsAreKeras) {
  const Variable v(2.5);
  EXPECT_EQ(v.name(), "variable");
  EXPECT_EQ(v.shape(), Shape{});
  EXPECT_EQ(v.dtype(), DType::float32);
  EXPECT_TRUE(v.trainable());
  EXPECT_EQ(v.aggregation(), Aggregation::none);
  EXPECT_EQ(v.synchronization(), Synchronization::on_write);
  EXPECT_EQ(v.value().item(), 2.5);
  EXPECT_FALSE(Variable(1.0, {.synchronization = Synchronization::on_read}).trainable());
  EXPECT_FALSE(Variable());
}

TEST_F(DistributedVariablesTest, ValuesAndInitializersGiveShapeAndDtype) {
  EXPECT_EQ(floats(Variable({1, 2, 3}).value()), Floats({1, 2, 3}));
  EXPECT_EQ(floats(Variable(0.5, {.shape = {2}}).value()), Floats({0.5, 0.5}));
  const Variable whole(Tensor({1.9f, -1.9f}), {.dtype = DType::int32});
  EXPECT_THAT(whole.value().to_vector<int32_t>(), ElementsAre(1, -1));
  int calls = 0;
  const Variable filled({.initializer =
                             [&](const Tensor& host) {
                               ++calls;
                               host.copy_from(Tensor::full(host.shape(), 4, host.dtype()));
                             },
                         .shape = {2, 2},
                         .dtype = DType::float64,
                         .name = "filled"});
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(filled.value().to_vector<double>(), std::vector<double>(4, 4.0));
  const Tensor mine({1, 2});
  const Variable copied(mine);
  copied.assign_add(1.0);
  EXPECT_EQ(floats(mine), Floats({1, 2}));
}

TEST_F(DistributedVariablesTest, WhatNoVariableMayBe) {
  using enum Synchronization;
  expect_error<InvalidArgumentError>(
      [] { Variable(1.0, {.synchronization = Synchronization::none, .name = "v"}); },
      {"variable 'v'", "synchronization none", "on_write or on_read"});
  expect_error<InvalidArgumentError>(
      [] { Variable(1.0, {.dtype = DType::int32, .aggregation = Aggregation::mean, .name = "v"}); },
      {"variable 'v'", "aggregation mean", "int32"});
  expect_error<InvalidArgumentError>(
      [] { Variable(1.0, {.trainable = true, .synchronization = on_read, .name = "v"}); },
      {"variable 'v'", "cannot be trainable"});
  expect_error<InvalidArgumentError>([] { Variable(1.0, {.aggregation = static_cast<Aggregation>(9)}); },
                                     {"named synchronizations and aggregations"});
  expect_error<InvalidArgumentError>([] { Variable({.name = "v"}); }, {"variable 'v'", "received neither"});
  expect_error<InvalidArgumentError>(
      [] { Variable(1.0, {.initializer = [](const Tensor&) {}, .name = "v"}); }, {"received both"});
  expect_error<ShapeError>([] { Variable({1, 2}, {.shape = {3}, .name = "v"}); }, {"(3,)", "(2,)"});
  expect_error<ShapeError>(
      [] {
        Variable({.initializer = [](const Tensor&) {}, .shape = {None, 2}});
      },
      {"without None"});
}

TEST_F(DistributedVariablesTest, EachStrategyMakesItsKinds) {
  const auto kind = [](const Variable& v) { return std::string(v.node().kind->class_name()); };
  const VariableConfig state{.synchronization = Synchronization::on_read};
  const auto scope_of = [&](const Strategy& strategy, const char* written, const char* read) {
    const auto scope = strategy.scope();
    EXPECT_EQ(kind(Variable(1.0)), written);
    EXPECT_EQ(kind(Variable(1.0, state)), read);
  };
  scope_of(mirrored(2), "MirroredVariable", "SyncOnReadVariable");
  scope_of(OneDeviceStrategy("cpu:1"), "MirroredVariable", "SyncOnReadVariable");
  scope_of(CentralStorageStrategy({.compute_devices = cpus(2)}), "AggregatingVariable", "SyncOnReadVariable");
}

TEST_F(DistributedVariablesTest, VariablesWithoutAStrategyKnowNoContexts) {
  const Variable total(1.0, {.aggregation = Aggregation::sum, .synchronization = Synchronization::on_read});
  total.assign_add(2.0);
  EXPECT_EQ(total.value().item(), 3);
  const Variable none({1, 2}, {.synchronization = Synchronization::on_read});
  EXPECT_EQ(floats(none.value()), Floats({1, 2}));
  none.scatter_update(Tensor::from(std::vector<int32_t>{1}), Tensor({7}));
  EXPECT_EQ(floats(none.value()), Floats({1, 7}));
  const Variable here = [] {
    const auto on = device("cpu:2");
    return Variable(1.0);
  }();
  EXPECT_EQ(here.value().device(), Device("cpu:2"));
}

TEST_F(DistributedVariablesTest, ReadsAreTrackedWhereTrainable) {
  const MirroredStrategy strategy = mirrored(2);
  const auto scope = strategy.scope();
  const Variable weight({1, 2}), state({1, 2}, {.trainable = false});
  strategy.run([&](Replica&) {
    Tape tape;
    const ScopedValue<Tape*> recording(thread_context().tape, &tape);
    EXPECT_EQ(weight.value().tape(), &tape);
    EXPECT_EQ(state.value().tape(), nullptr);
    EXPECT_EQ((ops::sum(weight.value()) * 2.0).tape(), &tape);
  });
  EXPECT_EQ(weight.value().tape(), nullptr);
}

TEST_F(DistributedVariablesTest, WrongValuesNameVariableAndMethodAndChangeNothing) {
  const Variable v({1, 2}, {.name = "table"});
  const Tensor index = Tensor::from(std::vector<int64_t>{0, 5});
  expect_error<ShapeError>(
      [&] {
        v.assign_add(Tensor({1, 2, 3}));
      },
      {"variable 'table', assign_add", "(2,)", "(3,)"});
  expect_error<ShapeError>([&] { v.assign_sub(Tensor::zeros({2}, DType::float64)); },
                           {"variable 'table', assign_sub", "float32", "float64"});
  expect_error<ShapeError>([&] { v.scatter_mul(index, Tensor({1})); },
                           {"variable 'table', scatter_mul", "(2,)", "(1,)"});
  expect_error<DTypeError>([&] { v.scatter_mul(Tensor({0}), Tensor({1})); },
                           {"scatter_mul", "indices of int32"});
  expect_error<NumericError>(
      [&] {
        v.scatter_add(index, Tensor({9, 9}));
      },
      {"variable 'table', scatter_add", "index 5", "[0, 2)"});
  expect_error<NumericError>([&] { v.scatter_add(Tensor::from(std::vector<int64_t>{-1}), Tensor({9})); },
                             {"index -1"});
  expect_error<ShapeError>(
      [] { Variable(1.0).scatter_add(Tensor::from(std::vector<int64_t>{0}), Tensor({1})); },
      {"a scalar has no slices"});
  EXPECT_EQ(floats(v.value()), Floats({1, 2}));
  const Variable whole(Tensor::from(std::vector<int32_t>{4, 6}));
  expect_error<NumericError>(
      [&] {
        whole.scatter_div(Tensor::from(std::vector<int64_t>{0, 1}), Tensor::from(std::vector<int32_t>{2, 0}));
      },
      {"divided by zero"});
  EXPECT_THAT(whole.value().to_vector<int32_t>(), ElementsAre(4, 6));
}

TEST_F(DistributedVariablesTest, ScatteredSlicesOfSeveralAxes) {
  const Variable v(Tensor(std::vector<float>{1, 2, 3, 4, 5, 6}, {3, 2}));
  const Tensor index = Tensor::from(std::vector<uint8_t>{2, 0, 2, 2}, {2, 2});
  v.scatter_add(index, Tensor(std::vector<float>{1, 1, 10, 10, 2, 2, 3, 3}, {2, 2, 2}));
  EXPECT_EQ(floats(v.value()), Floats({11, 12, 3, 4, 11, 12}));
  v.scatter_update(index, Tensor(std::vector<float>{1, 1, 9, 9, 2, 2, 3, 3}, {2, 2, 2}));
  EXPECT_EQ(floats(v.value()), Floats({9, 9, 3, 4, 3, 3}));
  v.scatter_min(Tensor::from(std::vector<int64_t>{}, {0}), Tensor::zeros({0, 2}));
  EXPECT_EQ(floats(v.value()), Floats({9, 9, 3, 4, 3, 3}));
  const Variable lowest(Tensor::from(std::vector<int32_t>{std::numeric_limits<int32_t>::min()}));
  lowest.scatter_div(Tensor::from(std::vector<int64_t>{0}), Tensor::from(std::vector<int32_t>{-1}));
  EXPECT_THAT(lowest.value().to_vector<int32_t>(), ElementsAre(std::numeric_limits<int32_t>::min()));
}

TEST_F(DistributedVariablesTest, SixteenBitFloatsAreCombinedInFloat32) {
  const MirroredStrategy strategy = mirrored(2);
  const auto scope = strategy.scope();
  for (DType dtype : {DType::bfloat16, DType::float16}) {
    const Variable v({1, 2}, {.dtype = dtype, .aggregation = Aggregation::mean});
    const auto own = [&](const Replica& replica, double value) {
      return ops::cast(Tensor::full({2}, value, DType::float32, replica.device), dtype);
    };
    strategy.run([&](Replica& replica) { v.assign_add(own(replica, 1 + replica.id)); });
    EXPECT_EQ(floats(ops::cast(v.value(), DType::float32)), Floats({2.5, 3.5}));
    v.scatter_mul(Tensor::from(std::vector<int64_t>{1}), ops::cast(Tensor({2}), dtype));
    EXPECT_EQ(floats(ops::cast(v.value(), DType::float32)), Floats({2.5, 7}));
    const Variable sum(
        {0}, {.dtype = dtype, .aggregation = Aggregation::sum, .synchronization = Synchronization::on_read});
    sum.assign(3.0);
    EXPECT_EQ(floats(ops::cast(sum.value(), DType::float32)), Floats{3});
    EXPECT_EQ(floats(ops::cast(sum.value(1), DType::float32)), Floats{1.5});
  }
}

TEST_F(DistributedVariablesTest, IntegerSharesAddUpToTheValue) {
  const MirroredStrategy strategy = mirrored(3);
  const auto scope = strategy.scope();
  const Variable v(
      0.0,
      {.dtype = DType::int64, .aggregation = Aggregation::sum, .synchronization = Synchronization::on_read});
  const auto shares = [&](double value) {
    v.assign(value);
    EXPECT_EQ(v.value().item(), value);
    return std::vector<double>{v.value(0).item(), v.value(1).item(), v.value(2).item()};
  };
  EXPECT_THAT(shares(7), ElementsAre(3, 2, 2));
  EXPECT_THAT(shares(2), ElementsAre(1, 1, 0));
  EXPECT_THAT(shares(-8), ElementsAre(-3, -3, -2));
}

TEST_F(DistributedVariablesTest, AMeanThatWasAssignedReadsBackToTheBit) {
  constexpr int kCount = 1000;
  Floats values;
  for (int i = 0; i < kCount; ++i) values.push_back(std::sqrt(static_cast<float>(i)));
  for (int replicas : {2, 3, 4}) {
    const MirroredStrategy strategy = mirrored(replicas);
    const auto scope = strategy.scope();
    const Variable v(Tensor::zeros({kCount}),
                     {.aggregation = Aggregation::mean, .synchronization = Synchronization::on_read});
    strategy.run([&](Replica& replica) {
      v.assign(Tensor::full({kCount}, replica.id, DType::float32, replica.device));
    });
    v.assign(Tensor::from(values));
    EXPECT_EQ(floats(v.value()), values);
  }
}

TEST_P(StorageTest, AReplicaWritesItsCopyAlone) {
  const MirroredStrategy strategy = mirrored(3, GetParam());
  const auto scope = strategy.scope();
  const Variable v({5, 5});
  strategy.run([&](Replica& replica) {
    if (replica.id > 0) v.assign(Tensor::full({2}, replica.id, DType::float32, replica.device));
    if (replica.id == 2) v.scatter_add(Tensor::from(std::vector<int64_t>{1}), Tensor({10}));
    if (replica.id == 0) {
      EXPECT_EQ(floats(v.value()), Floats({5, 5}));
    }
  });
  EXPECT_EQ(floats(v.value(0)), Floats({5, 5}));
  EXPECT_EQ(floats(v.value(1)), Floats({1, 1}));
  EXPECT_EQ(floats(v.value(2)), Floats({2, 12}));
  EXPECT_EQ(floats(v.value()), Floats({5, 5}));
  v.assign_add(1.0);
  EXPECT_EQ(floats(v.value(0)), Floats({6, 6}));
  EXPECT_EQ(floats(v.value(2)), Floats({3, 13}));
  v.assign(4.0);
  for (size_t copy = 0; copy < 3; ++copy) EXPECT_EQ(floats(v.value(copy)), Floats({4, 4}));
  EXPECT_EQ(v.value(0).raw() == v.value(2).raw(), GetParam());
}

TEST_P(StorageTest, AnUpdateBringsCopiesTogether) {
  const MirroredStrategy strategy = mirrored(2, GetParam());
  const auto scope = strategy.scope();
  const Variable v({5, 5}), other({1});
  PlainDescent rule({v, other}, 1.0);
  strategy.run([&](Replica& replica) {
    v.assign(Tensor::full({2}, 10 + replica.id, DType::float32, replica.device));
  });
  EXPECT_EQ(floats(v.value(1)), Floats({11, 11}));
  strategy.node().run(
      [&](Replica& replica) {
        const Tensor value = replica.tape->watch(v.value(static_cast<size_t>(replica.id)), v.node().leaf);
        backward(*replica.tape, ops::sum(value), *replica.gradients);
      },
      &rule);
  strategy.node().update(rule);
  for (size_t copy = 0; copy < 2; ++copy) {
    EXPECT_EQ(floats(v.value(copy)), Floats({8, 8}));
    EXPECT_EQ(floats(other.value(copy)), Floats{1});
  }
  EXPECT_EQ(v.value(0).raw() == v.value(1).raw(), GetParam());
}

TEST_P(StorageTest, ReplicasThatDoNotAgreeBreakTheStepAndNothingElse) {
  const MirroredStrategy strategy = mirrored(2, GetParam());
  const auto scope = strategy.scope();
  const Variable v(1.0, {.aggregation = Aggregation::mean, .name = "v"}),
      w(1.0, {.aggregation = Aggregation::mean, .name = "w"});
  const auto fails = [&](const std::function<void(Replica&)>& step) {
    EXPECT_THROW(strategy.run([&](Replica& replica) { step(replica); }), CommunicationError);
    EXPECT_EQ(v.value().item(), 1);
    EXPECT_EQ(w.value().item(), 1);
  };
  fails([&](Replica& replica) {
    if (replica.id == 1) v.assign(scalar_on(replica, 3));
  });
  fails([&](Replica& replica) { (replica.id == 1 ? v : w).assign(scalar_on(replica, 3)); });
  fails([&](Replica& replica) {
    if (replica.id == 1)
      v.assign(scalar_on(replica, 3));
    else
      v.assign_add(scalar_on(replica, 3));
  });
  expect_error<ShapeError>(
      [&] {
        strategy.run([&](Replica& replica) {
          if (replica.id == 1)
            v.assign(Tensor({1, 2}));
          else
            v.assign(scalar_on(replica, 3));
        });
      },
      {"replica 1", "variable 'v', assign", "(2,)"});
  strategy.run([&](Replica& replica) { v.assign(scalar_on(replica, 2 * replica.id)); });
  EXPECT_EQ(v.value().item(), 1);
}

TEST_P(StorageTest, AVariableOfAnotherStrategyIsOnlyRead) {
  const MirroredStrategy strategy = mirrored(3, GetParam());
  const Variable plain(1.0, {.name = "plain"});
  const Variable of_two = mirrored(2, GetParam()).scope([] {
    return Variable(1.0, {.aggregation = Aggregation::sum, .name = "v"});
  });
  strategy.run([&](Replica&) {
    EXPECT_EQ(plain.value().item(), 1);
    EXPECT_EQ(of_two.value().item(), 1);
  });
  expect_error<StateError>([&] { strategy.run([&](Replica&) { plain.assign(2.0); }); },
                           {"variable 'plain', assign", "1 copy", "3 replicas", "scope of the strategy"});
  expect_error<StateError>([&] { strategy.run([&](Replica&) { of_two.assign_add(2.0); }); },
                           {"variable 'v', assign_add", "2 copies", "3 replicas"});
}

TEST_P(StorageTest, MadeInsideAStepItIsOneVariable) {
  const MirroredStrategy strategy = mirrored(3, GetParam());
  Variables made(3);
  strategy.run([&](Replica& replica) {
    made[static_cast<size_t>(replica.id)] = Variable(10.0 + replica.id, {.name = "v"});
  });
  for (const Variable& v : made) {
    EXPECT_EQ(v, made[0]);
    EXPECT_EQ(v.value().item(), 10);
  }
  EXPECT_EQ(made[0].num_copies(), 3u);
  EXPECT_THROW(strategy.run([&](Replica& replica) {
    if (replica.id == 1) Variable(1.0);
  }),
               CommunicationError);
}

TEST_P(StorageTest, ManyWritesOfManyReplicas) {
  const MirroredStrategy strategy = mirrored(4, GetParam());
  const auto scope = strategy.scope();
  const Variable sum({0, 0}, {.aggregation = Aggregation::sum}), alone({0, 0}),
      read(0.0, {.aggregation = Aggregation::sum, .synchronization = Synchronization::on_read});
  for (int step = 0; step < 20; ++step)
    strategy.run([&](Replica& replica) {
      for (int i = 0; i < 5; ++i) {
        sum.assign_add(Tensor::full({2}, replica.id, DType::float32, replica.device));
        alone.assign_add(Tensor::full({2}, 1, DType::float32, replica.device));
        read.assign_add(1.0);
        EXPECT_EQ(floats(alone.value())[0], static_cast<float>(5 * step + i + 1));
        EXPECT_EQ(floats(sum.value())[1], static_cast<float>(6 * (5 * step + i + 1)));
      }
    });
  EXPECT_EQ(floats(sum.value()), Floats({600, 600}));
  EXPECT_EQ(floats(alone.value()), Floats({100, 100}));
  EXPECT_EQ(read.value().item(), 400);
}

INSTANTIATE_TEST_SUITE_P(Storage, StorageTest, ::testing::Bool(),
                         [](const auto& instance) { return instance.param ? "Shared" : "Separate"; });

TEST_F(DistributedVariablesTest, ANumberIsWrittenToAVariableThatIsNoScalar) {
  const MirroredStrategy strategy({.devices = cpus(2)});
  const Variable mean = strategy.scope([] {
    return Variable(Tensor::zeros({2}),
                    {.trainable = false, .aggregation = Aggregation::mean, .name = "mean"});
  });
  strategy.run([&](Replica&) { mean.assign_add(3.0); });
  EXPECT_EQ(floats(mean.value()), Floats({3, 3}));
}

TEST_F(DistributedVariablesTest, CentralVariablesAreOneAndNeedAnAggregation) {
  const CentralStorageStrategy strategy({.compute_devices = cpus(3), .parameter_device = "cpu:0"});
  const auto scope = strategy.scope();
  const Variable v(1.0, {.name = "v"}), state(1.0, {.trainable = false, .name = "state"}),
      mean(1.0, {.aggregation = Aggregation::mean, .name = "mean"});
  for (const Variable& variable : {v, state, mean})
    for (size_t replica = 0; replica < 3; ++replica)
      EXPECT_EQ(variable.value(replica).raw(), variable.node().home.raw());
  for (const Variable& variable : {v, state})
    expect_error<StateError>(
        [&] { strategy.run([&](Replica& replica) { variable.assign_sub(scalar_on(replica, 1)); }); },
        {"variable '" + variable.name() + "', assign_sub", "need an aggregation", "received none"});
  strategy.run([&](Replica& replica) { mean.assign(scalar_on(replica, replica.id)); });
  EXPECT_EQ(mean.value().item(), 1);
  v.assign(7.0);
  EXPECT_EQ(v.value(2).item(), 7);
}

TEST_F(DistributedVariablesTest, ReplicasElsewhereFetchCentralVariables) {
  enable_ghost_device();
  const CentralStorageStrategy strategy(
      {.compute_devices = {"ghost:0", "ghost:1"}, .parameter_device = "cpu:0"});
  const auto scope = strategy.scope();
  for (bool trainable : {true, false}) {
    const Variable v({1, 2}, {.trainable = trainable, .aggregation = Aggregation::sum});
    EXPECT_EQ(v.value().device(), Device("cpu:0"));
    strategy.run([&](Replica& replica) {
      EXPECT_EQ(v.value().device(), replica.device);
      v.assign_add(Tensor::full({2}, 1 + replica.id, DType::float32, replica.device));
      EXPECT_EQ(floats(v.value()), Floats({4, 5}));
    });
    v.assign(Tensor({8, 9}));
    for (size_t replica = 0; replica < 2; ++replica) EXPECT_EQ(floats(v.value(replica)), Floats({8, 9}));
    strategy.update(v, [](const Tensor& copy) { copy.copy_from(copy * 2.0); });
    for (size_t replica = 0; replica < 2; ++replica) EXPECT_EQ(floats(v.value(replica)), Floats({16, 18}));
  }
}

TEST_F(DistributedVariablesTest, AVariableOutlivesItsStrategy) {
  const Variable v = [] {
    const MirroredStrategy strategy = mirrored(2);
    return strategy.scope([] {
      return Variable(1.0, {.aggregation = Aggregation::sum, .synchronization = Synchronization::on_read});
    });
  }();
  v.assign(4.0);
  EXPECT_EQ(v.value().item(), 4);
}

// A slice of what value() gives would change one copy of several, with all bytes apart or shared.
TEST_F(DistributedVariablesTest, SlicesOfOneCopyTakeNoAssignment) {
  for (const bool shared : {true, false}) {
    const MirroredStrategy strategy = mirrored(2, shared);
    const Variable v = strategy.scope([] { return Variable({1, 2, 3}); });
    const Tensor value = v.value();
    expect_error<StateError>([&] { v.value()[0] = 5.0; }, {"one of several copies", "variable.assign"});
    expect_error<StateError>([&] { value.reshape({3, 1})[0] += 5.0; }, {"variable.assign"});
    expect_error<StateError>([&] { strategy.run([&](Replica&) { v.value()[0] = 5.0; }); },
                             {"variable.assign"});
    for (size_t i = 0; i < 2; ++i) EXPECT_EQ(v.value(i).to_vector<float>(), (Floats{1, 2, 3}));
    value.clone()[0] = 5.0;
    strategy.update(v, [](const Tensor& copy) { copy[0] = 5.0; });
    for (size_t i = 0; i < 2; ++i) EXPECT_EQ(v.value(i).to_vector<float>(), (Floats{5, 2, 3}));
  }
  const Variable alone({1, 2, 3});
  alone.value()[0] = 5.0;
  EXPECT_EQ(alone.value().to_vector<float>(), (Floats{5, 2, 3}));
}

}  // namespace

}  // namespace nyala::distributed_variables_test
