// Distributed variables: the numbered cases of the conformance table that concern them. The number of a case
// stands in its test's name. Where the numbers depend on the number of replicas N, they are given for each.
#include <mutex>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/api/initializers/all.h>
#include <nyala/api/layers/all.h>
#include <nyala/api/layers/base/builder.h>
#include <nyala/api/model/model.h>
#include <nyala/api/optimizers/all.h>
#include <nyala/api/utils/gradient_tape.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/reduction/reduction.h>
#include <nyala/backend/parameters/variable.h>
#include <nyala/backend/runtime/device_registry.h>
#include <nyala/strategies/central_storage.h>
#include <nyala/strategies/mirrored.h>
#include <nyala/tests/conformance/strategies/places.h>

namespace nyala::cases_variables_test {

namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Floats = std::vector<float>;

Floats floats(const Tensor& tensor) { return tensor.to_vector<float>(); }

/// `body` on every replica's thread; then what the variable reads on each replica.
std::vector<Floats> on_each(const Strategy& strategy, const Variable& variable,
                            const std::function<void(Replica&)>& body) {
  std::vector<Floats> seen(static_cast<size_t>(strategy.num_replicas_in_sync()));
  strategy.run([&](Replica& replica) {
    body(replica);
    seen[static_cast<size_t>(replica.id)] = floats(variable.value());
  });
  return seen;
}

void expect_each(const std::vector<Floats>& seen, const Floats& expected) {
  for (size_t replica = 0; replica < seen.size(); ++replica) {
    ASSERT_EQ(seen[replica].size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i)
      EXPECT_FLOAT_EQ(seen[replica][i], expected[i]) << "replica " << replica << ", element " << i;
  }
}

Tensor value_on(const Replica& replica, double value) {
  return Tensor::full({}, value, DType::float32, replica.device);
}

bool is_central(const Place& place) { return place.name.find("central") != std::string::npos; }

/// places(), and central storage for replicas that cannot read it.
std::vector<Place> all_places() {
  std::vector<Place> all = places();
  all.push_back({"2 central ghosts", 2, false, [] {
                   return CentralStorageStrategy(
                       {.compute_devices = {"ghost:0", "ghost:1"}, .parameter_device = "cpu:0"});
                 }});
  return all;
}

std::vector<Place> mirrored_places() {
  std::vector<Place> mirrored = all_places();
  std::erase_if(mirrored, is_central);
  return mirrored;
}

std::string place_name(const ::testing::TestParamInfo<Place>& info) {
  std::string name = info.param.name;
  std::erase(name, ' ');
  return name;
}

class VariableCases : public ::testing::TestWithParam<Place> {
 protected:
  void SetUp() override {
    configure_logical_devices("cpu", 4);
    enable_ghost_device();
  }
  void TearDown() override { configure_logical_devices("cpu", 1); }
  static int replicas() { return GetParam().replicas; }
  static float count() { return static_cast<float>(GetParam().replicas); }
};
/// Those that concern variables with a copy per replica.
class MirroredVariableCases : public VariableCases {};

TEST_P(VariableCases, Case09UpdateContextWritesTheCopies) {
  using Method = void (Variable::*)(double) const;
  struct Update {
    Method method;
    float after_both;
  };
  for (const Update& update :
       {Update{&Variable::assign, 1}, Update{&Variable::assign_add, 8}, Update{&Variable::assign_sub, 2}}) {
    const Strategy strategy = GetParam().make();
    const Variable v = strategy.scope([] { return Variable(5.0, {.name = "v"}); });
    const auto seen = on_each(strategy, v, [&](Replica& replica) {
      for (double value : {2.0, 1.0})
        replica.update(
            v, [&](const Tensor&, double x) { (v.*update.method)(x); }, value);
    });
    expect_each(seen, {update.after_both});
    EXPECT_EQ(floats(v.value()), Floats{update.after_both});
  }
}

TEST_P(VariableCases, Case09TheCopyMayBeWrittenInPlace) {
  const Strategy strategy = GetParam().make();
  const Variable v = strategy.scope([] { return Variable({1, 2}, {.name = "v"}); });
  strategy.update(v, [](const Tensor& copy) { copy.copy_from(copy * 3.0); });
  expect_each(on_each(strategy, v, [](Replica&) {}), {3, 6});
}

TEST_P(VariableCases, Case10MeanOfTheReplicasValues) {
  const float mean = (count() - 1) / 2;  // of 0, 1, ...: 0.5 for N = 2, 1.5 for N = 4
  const Strategy strategy = GetParam().make();
  const auto scope = strategy.scope();
  const Variable v(7.0, {.aggregation = Aggregation::mean, .name = "v"});
  const auto after = [&](double first, void (Variable::*method)(const Tensor&) const) {
    v.assign(first);
    return on_each(strategy, v, [&](Replica& replica) { (v.*method)(value_on(replica, replica.id)); });
  };
  expect_each(after(9, &Variable::assign), {mean});
  expect_each(after(1, &Variable::assign_add), {1 + mean});
  expect_each(after(5, &Variable::assign_sub), {5 - mean});
  EXPECT_FLOAT_EQ(floats(v.value())[0], 5 - mean);
}

TEST_P(VariableCases, Case10APlainNumberIsItsOwnMean) {
  const Strategy strategy = GetParam().make();
  const auto scope = strategy.scope();
  const Variable v(1.0, {.aggregation = Aggregation::mean, .name = "v"});
  expect_each(on_each(strategy, v, [&](Replica&) { v.assign(5.0); }), {5});
  v.assign(1.0);
  expect_each(on_each(strategy, v, [&](Replica&) { v.assign_add(5.0); }), {6});
  v.assign(5.0);
  expect_each(on_each(strategy, v, [&](Replica&) { v.assign_sub(1.0); }), {4});
}

TEST_P(VariableCases, Case11SumOfTheReplicasValues) {
  const Strategy strategy = GetParam().make();
  const auto scope = strategy.scope();
  const Variable v(1.0, {.aggregation = Aggregation::sum, .name = "v"});
  expect_each(on_each(strategy, v, [&](Replica& replica) { v.assign(value_on(replica, 2)); }), {2 * count()});
  expect_each(on_each(strategy, v, [&](Replica& replica) { v.assign_add(value_on(replica, 1)); }),
              {3 * count()});
  expect_each(on_each(strategy, v, [&](Replica&) { v.assign(0.0); }), {0});
}

TEST_P(VariableCases, Case11APlainValueHasNoSum) {
  const Strategy strategy = GetParam().make();
  const auto scope = strategy.scope();
  const Variable v(1.0, {.aggregation = Aggregation::sum, .name = "total"});
  const Tensor outside(3.0f);
  const auto attempt = [&](const std::function<void()>& write) {
    v.assign(1.0);
    try {
      strategy.run([&](Replica&) { write(); });
      EXPECT_EQ(replicas(), 1) << "a plain value was summed";
      EXPECT_GT(floats(v.value())[0], 1);  // one replica has nothing to sum
      return;
    } catch (const InvalidArgumentError& error) {
      EXPECT_THAT(error.what(), HasSubstr("variable 'total', assign_add: the same value on all replicas"));
    }
    EXPECT_EQ(floats(v.value()), Floats{1});
  };
  attempt([&] { v.assign_add(5.0); });
  attempt([&] { v.assign_add(outside); });
}

TEST_P(VariableCases, Case11OnlyFirstReplicaCounts) {
  const Strategy strategy = GetParam().make();
  const auto scope = strategy.scope();
  const Variable v(9.0, {.aggregation = Aggregation::only_first_replica, .name = "v"});
  expect_each(on_each(strategy, v, [&](Replica& replica) { v.assign(value_on(replica, replica.id)); }), {0});
  expect_each(
      on_each(strategy, v, [&](Replica& replica) { v.assign_add(value_on(replica, 3 + replica.id)); }), {3});
}

TEST_P(VariableCases, Case12BetweenStepsAllCopiesTakeTheValue) {
  for (Aggregation aggregation : {Aggregation::none, Aggregation::sum, Aggregation::mean}) {
    const Strategy strategy = GetParam().make();
    const auto scope = strategy.scope();
    const Variable v(1.0, {.aggregation = aggregation, .name = "v"});
    v.assign_add(6.0);
    EXPECT_EQ(floats(v.value()), Floats{7});
    v.assign_add(Tensor(2.0f));
    EXPECT_EQ(floats(v.value()), Floats{9});
    expect_each(on_each(strategy, v, [](Replica&) {}), {9});
    v.assign_sub(4.0);
    expect_each(on_each(strategy, v, [](Replica&) {}), {5});
  }
}

Variable on_read(Aggregation aggregation, double initial = 0) {
  return Variable(initial,
                  {.aggregation = aggregation, .synchronization = Synchronization::on_read, .name = "state"});
}

TEST_P(VariableCases, Case13ReadingBringsTheCopiesTogether) {
  const float n = count();
  const Strategy strategy = GetParam().make();
  const auto scope = strategy.scope();
  const std::vector<std::pair<Aggregation, float>> expected = {{Aggregation::sum, n * (n - 1) / 2},
                                                               {Aggregation::mean, (n - 1) / 2},
                                                               {Aggregation::only_first_replica, 0}};
  for (const auto& [aggregation, value] : expected) {
    const Variable v = on_read(aggregation);
    const auto seen =
        on_each(strategy, v, [&](Replica& replica) { v.assign(value_on(replica, replica.id)); });
    for (size_t replica = 0; replica < seen.size(); ++replica)
      EXPECT_EQ(seen[replica], Floats{static_cast<float>(replica)});
    EXPECT_FLOAT_EQ(floats(v.value())[0], value) << name_of(aggregation);
  }
  const Variable v = on_read(Aggregation::none);
  on_each(strategy, v, [&](Replica& replica) { v.assign(value_on(replica, replica.id)); });
  EXPECT_THROW((void)v.value(), StateError);
}

TEST_P(VariableCases, Case13ArithmeticSeesTheValueOfItsContext) {
  const Strategy strategy = GetParam().make();
  const auto scope = strategy.scope();
  const Variable v = on_read(Aggregation::mean);
  std::vector<Floats> plus_one(static_cast<size_t>(replicas()));
  strategy.run([&](Replica& replica) {
    v.assign(value_on(replica, replica.id));
    plus_one[static_cast<size_t>(replica.id)] = floats(v.value() + 1.0);
  });
  for (int replica = 0; replica < replicas(); ++replica)
    EXPECT_EQ(plus_one[static_cast<size_t>(replica)], Floats{static_cast<float>(replica + 1)});
  EXPECT_FLOAT_EQ(floats(v.value() + 1.0)[0], 1 + (count() - 1) / 2);  // 1.5 for N = 2
}

TEST_P(VariableCases, Case14ASumIsAssignedInShares) {
  const Strategy strategy = GetParam().make();
  const auto scope = strategy.scope();
  const Variable v = on_read(Aggregation::sum, 1);
  EXPECT_EQ(floats(v.value()), Floats{count()});  // 2 for N = 2: every copy begins with the initial value
  v.assign(6.0);
  EXPECT_FLOAT_EQ(floats(v.value())[0], 6);
  expect_each(on_each(strategy, v, [](Replica&) {}), {6 / count()});  // 3 each for N = 2
  EXPECT_THROW(v.assign_add(1.0), StateError);
  EXPECT_THROW(v.assign_sub(1.0), StateError);
  EXPECT_FLOAT_EQ(floats(v.value())[0], 6);
}

/// What a checkpoint does: the value between steps goes to the host and is assigned there.
Tensor saved(const Variable& variable) { return variable.value().to(Device("cpu:0")).clone(); }

TEST_P(VariableCases, Case15CheckpointsHoldTheValueBetweenSteps) {
  const Strategy strategy = GetParam().make();
  Tensor total;
  float expected = 0;
  {
    const auto scope = strategy.scope();
    const Variable v = on_read(Aggregation::sum);
    strategy.run([&](Replica& replica) { v.assign(value_on(replica, 4 - replica.id)); });
    for (int replica = 0; replica < replicas(); ++replica) expected += static_cast<float>(4 - replica);
    total = saved(v);  // 7 for N = 2
    EXPECT_EQ(floats(total), Floats{expected});
    v.assign(100.0);
    v.assign(total);
    expect_each(on_each(strategy, v, [](Replica&) {}), {expected / count()});  // 3.5 each for N = 2
    const Variable sum = on_read(Aggregation::sum), mean = on_read(Aggregation::mean);
    sum.assign(2.0);
    mean.assign(2.0);
    expect_each(on_each(strategy, sum, [](Replica&) {}), {2 / count()});  // 1 each for N = 2
    expect_each(on_each(strategy, mean, [](Replica&) {}), {2});
  }
  const Variable plain(0.0);
  plain.assign(total);
  EXPECT_EQ(floats(plain.value()), Floats{expected});
}

TEST_P(VariableCases, Case42RestoredToAnotherNumberOfReplicas) {
  const Strategy from = GetParam().make();
  const auto value_in = [](const Strategy& strategy, Aggregation aggregation, Synchronization synchronization,
                           const Tensor* restored) {
    const auto scope = strategy.scope();
    const Variable v({0, 0}, {.aggregation = aggregation, .synchronization = synchronization});
    if (restored) {
      v.assign(*restored);
    } else {
      strategy.run([&](Replica& replica) {
        v.assign(Tensor({2.0f + static_cast<float>(replica.id), 8}).to(replica.device));
      });
    }
    return saved(v);
  };
  using enum Synchronization;
  for (const auto& [aggregation, synchronization] :
       {std::pair(Aggregation::none, on_write), std::pair(Aggregation::mean, on_write),
        std::pair(Aggregation::sum, on_read), std::pair(Aggregation::mean, on_read),
        std::pair(Aggregation::only_first_replica, on_read)}) {
    // Each replica on its own has no value for all where one home stands for every copy.
    if (is_central(GetParam()) && aggregation == Aggregation::none && replicas() > 1) continue;
    const Tensor value = value_in(from, aggregation, synchronization, nullptr);
    for (const Place& place : all_places()) {
      const Tensor there = value_in(place.make(), aggregation, synchronization, &value);
      for (size_t i = 0; i < 2; ++i) EXPECT_FLOAT_EQ(floats(there)[i], floats(value)[i]) << place.name;
    }
  }
}

/// One replica's slice for Case16: one row of `index`.
Tensor index_on(const Replica& replica, int64_t index) {
  return Tensor::from(std::vector<int64_t>{index}).to(replica.device);
}
Tensor row_on(const Replica& replica, double value, DType dtype = DType::float32) {
  return Tensor::full({1}, value, dtype, replica.device);
}

TEST_P(VariableCases, Case16ScatterSubOfMeans) {
  const int n = replicas();
  const Strategy strategy = GetParam().make();
  const auto scope = strategy.scope();
  const std::vector<float> zeros(static_cast<size_t>(n + 1), 0.0f);
  const Variable v(Tensor::from(zeros), {.aggregation = Aggregation::mean});
  const auto seen = on_each(strategy, v, [&](Replica& replica) {
    const auto id = static_cast<int64_t>(replica.id);
    v.scatter_sub(Tensor::from(std::vector<int64_t>{id, id + 1}).to(replica.device),
                  Tensor({static_cast<float>(id), static_cast<float>(id + 1)}).to(replica.device));
  });
  // Row k gets k from replica k and k from replica k - 1: [0, -1, -1] for N = 2.
  Floats expected(static_cast<size_t>(n + 1));
  for (int k = 0; k <= n; ++k)
    expected[static_cast<size_t>(k)] = -static_cast<float>(k * ((k < n) + (k > 0))) / count();
  expect_each(seen, expected);
}

TEST_P(VariableCases, Case16ScatterAddAndDivOfSums) {
  const int n = replicas();
  const Strategy strategy = GetParam().make();
  const auto scope = strategy.scope();
  const Variable added(Tensor::zeros({n + 1}, DType::int32), {.aggregation = Aggregation::sum});
  std::vector<int32_t> before(static_cast<size_t>(n + 1), 6);
  before[0] = before[static_cast<size_t>(n)] = 1;
  const Variable divided(Tensor::from(before), {.aggregation = Aggregation::sum});
  strategy.run([&](Replica& replica) {
    const auto id = static_cast<int32_t>(replica.id);
    added.scatter_add(Tensor::from(std::vector<int32_t>{id, id + 1}).to(replica.device),
                      Tensor::from(std::vector<int32_t>{id, id + 1}).to(replica.device));
    divided.scatter_div(index_on(replica, id), row_on(replica, id + 2, DType::int32));
  });
  std::vector<int32_t> sums(static_cast<size_t>(n + 1)), quotients = before;
  for (int k = 0; k <= n; ++k) sums[static_cast<size_t>(k)] = k * ((k < n) + (k > 0));
  for (int k = 0; k < n; ++k) quotients[static_cast<size_t>(k)] /= k + 2;
  if (n == 2) {
    EXPECT_THAT(sums, ElementsAre(0, 2, 2));
    EXPECT_THAT(quotients, ElementsAre(0, 2, 1));
  }
  for (size_t copy = 0; copy < added.num_copies(); ++copy) {
    EXPECT_EQ(added.value(copy).to_vector<int32_t>(), sums);
    EXPECT_EQ(divided.value(copy).to_vector<int32_t>(), quotients);
  }
}

TEST_P(VariableCases, Case16ScatterMulOfMeansAveragesTheSlices) {
  const int n = replicas();
  const Strategy strategy = GetParam().make();
  const auto scope = strategy.scope();
  Floats expected(static_cast<size_t>(n + 1), 1.0f);
  expected[0] = 2;
  const Variable v(Tensor::from(expected), {.aggregation = Aggregation::mean});
  const auto seen = on_each(strategy, v, [&](Replica& replica) {
    v.scatter_mul(index_on(replica, replica.id), row_on(replica, replica.id + 2));
  });
  for (int k = 0; k < n; ++k) expected[static_cast<size_t>(k)] *= static_cast<float>(k + 2) / count();
  if (n == 2) {
    EXPECT_THAT(expected, ElementsAre(2.0f, 1.5f, 1.0f));
  }
  expect_each(seen, expected);
}

TEST_P(MirroredVariableCases, Case16ScatterWithoutAggregation) {
  const Strategy strategy = GetParam().make();
  const auto scope = strategy.scope();
  const Variable v({4});
  const std::vector<std::pair<void (Variable::*)(const Tensor&, const Tensor&) const, float>> sequence = {
      {&Variable::scatter_sub, 2},   {&Variable::scatter_add, 4}, {&Variable::scatter_max, 4},
      {&Variable::scatter_min, 2},   {&Variable::scatter_mul, 4}, {&Variable::scatter_div, 2},
      {&Variable::scatter_update, 2}};
  for (const auto& [method, expected] : sequence)
    expect_each(
        on_each(strategy, v,
                [&, m = method](Replica& replica) { (v.*m)(index_on(replica, 0), row_on(replica, 2)); }),
        {expected});
}

TEST_P(VariableCases, Case16ScatterAddBetweenSteps) {
  const Strategy strategy = GetParam().make();
  const auto scope = strategy.scope();
  const Variable v({1, 1, 1});
  v.scatter_add(Tensor::from(std::vector<int64_t>{0}), Tensor({2}));
  EXPECT_EQ(floats(v.value()), Floats({3, 1, 1}));
  expect_each(on_each(strategy, v, [](Replica&) {}), {3, 1, 1});
}

TEST_P(VariableCases, Case16ScatterRefusals) {
  const Strategy strategy = GetParam().make();
  const auto scope = strategy.scope();
  const Tensor index = Tensor::from(std::vector<int64_t>{0}), one({1});
  for (Aggregation aggregation : {Aggregation::sum, Aggregation::mean}) {
    const Variable v({1, 2}, {.aggregation = aggregation, .name = "table"});
    EXPECT_THROW(v.scatter_min(index, one), InvalidArgumentError);
    EXPECT_THROW(v.scatter_max(index, one), InvalidArgumentError);
    EXPECT_THROW(v.scatter_update(index, one), InvalidArgumentError);
    EXPECT_THROW(
        strategy.run([&](Replica& replica) { v.scatter_max(index_on(replica, 0), row_on(replica, 9)); }),
        InvalidArgumentError);
    EXPECT_EQ(floats(v.value()), Floats({1, 2}));
  }
  const Variable state(
      {1, 2},
      {.aggregation = Aggregation::sum, .synchronization = Synchronization::on_read, .name = "state"});
  EXPECT_THROW(state.scatter_add(index, one), InvalidArgumentError);
  EXPECT_THROW(
      strategy.run([&](Replica& replica) { state.scatter_add(index_on(replica, 0), row_on(replica, 9)); }),
      InvalidArgumentError);
}

TEST_P(VariableCases, Case40AStateOfIntegersIsTheSameOnEachReplica) {
  const Strategy strategy = GetParam().make();
  const auto scope = strategy.scope();
  const Variable state(Tensor::from(std::vector<int64_t>{42, 0}), {.trainable = false, .name = "seed_state"});
  std::vector<std::vector<int64_t>> seen(static_cast<size_t>(replicas()));
  strategy.run(
      [&](Replica& replica) { seen[static_cast<size_t>(replica.id)] = state.value().to_vector<int64_t>(); });
  for (const auto& own : seen) EXPECT_THAT(own, ElementsAre(42, 0));
}

TEST_P(VariableCases, Case50RandomInitialValuesAreEqualOnAllReplicas) {
  const Strategy strategy = GetParam().make();
  for (Synchronization synchronization : {Synchronization::on_write, Synchronization::on_read}) {
    std::mutex mutex;
    Variables made;
    std::vector<Floats> seen(static_cast<size_t>(replicas()));
    strategy.run([&](Replica& replica) {
      const Variable v({.initializer = RandomNormal(),
                        .shape = {2, 3},
                        .aggregation = Aggregation::mean,
                        .synchronization = synchronization});
      seen[static_cast<size_t>(replica.id)] = floats(v.value());
      const std::lock_guard lock(mutex);
      made.push_back(v);
    });
    for (const Floats& own : seen) EXPECT_EQ(own, seen[0]);
    EXPECT_NE(seen[0], Floats(6, 0.0f));
    for (const Variable& v : made) EXPECT_EQ(v, made[0]);
    EXPECT_EQ(made[0].num_copies(), static_cast<size_t>(replicas()));
  }
}

TEST_P(VariableCases, ReadsAreSourcesOfGradientsEverywhere) {
  const Strategy strategy = GetParam().make();
  const auto scope = strategy.scope();
  const Variable v({1, 2}), frozen({3, 4}, {.trainable = false});
  const auto gradient = [&] {
    GradientTape tape;
    return floats(tape.gradient(ops::sum(v.value() * v.value() * frozen.value()), Variables{v}).at(0));
  };
  EXPECT_EQ(gradient(), Floats({6, 16}));
  strategy.run([&](Replica&) { EXPECT_EQ(gradient(), Floats({6, 16})); });
}

/// Counts the rows that it has seen in training.
struct RowCounter final : LayerNode {
  Variable rows;
  std::string class_name() const override { return "RowCounter"; }
  void build(Builder& builder, const Shape&) override {
    rows = builder.state("rows", {}, Initializer("zeros"), Aggregation::sum);
  }
  Tensor call(Call& c, const Tensor& x) const override {
    if (c.training()) c.assign(rows, c[rows] + static_cast<double>(x.shape()[0]));
    return x;
  }
};

Model counting_model(const Strategy& strategy) {
  return strategy.scope([] {
    const Sequential net({Input({1}), make_layer<RowCounter>(), Dense(1)});
    net.compile({.optimizer = SGD(), .loss = "mse"});
    return net;
  });
}

TEST_P(VariableCases, Case15AndCase42ALayersSumIsThatOfOneDeviceAndIsSaved) {
  const Tensor x = Tensor::zeros({13, 1});
  const std::string path = ::testing::TempDir() + "rows_" + place_name({GetParam(), 0}) + ".weights.h5";
  const Model model = counting_model(GetParam().make());
  model.fit(x, x, {.batch_size = 5, .epochs = 2, .verbose = 0});
  EXPECT_FLOAT_EQ(model.non_trainable_weights().at(0).value().item(), 26);
  model.save_weights(path);
  for (const Place& other : all_places()) {
    SCOPED_TRACE(other.name);
    const Model again = counting_model(other.make());
    again.load_weights(path);
    EXPECT_FLOAT_EQ(again.non_trainable_weights().at(0).value().item(), 26);
    again.fit(x, x, {.batch_size = 13, .verbose = 0});
    EXPECT_FLOAT_EQ(again.non_trainable_weights().at(0).value().item(), 39);
  }
}

INSTANTIATE_TEST_SUITE_P(Places, VariableCases, ::testing::ValuesIn(all_places()), place_name);
INSTANTIATE_TEST_SUITE_P(Places, MirroredVariableCases, ::testing::ValuesIn(mirrored_places()), place_name);

}  // namespace

}  // namespace nyala::cases_variables_test
