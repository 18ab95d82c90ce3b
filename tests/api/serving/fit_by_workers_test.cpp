// A cluster of threads: each runs the same program under its end of a ParameterServerStrategy. With one
// worker nothing is stale, so that training by servers gives one device's numbers.
#include <cmath>
#include <future>
#include <map>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/api/serving/optimizer_rule.h>
#include <nyala/nyala.h>
#include <nyala/tests/strategies/parameter_server/parameter_server_fixture.h>
#include <nyala/tests/support/error_text.h>
#include <nyala/tests/support/scratch_folder.h>

namespace nyala::fit_by_workers_test {

namespace {

using ::testing::HasSubstr;

/// Which no server knows.
class Halving final : public ConstraintNode {
 public:
  std::string class_name() const override { return "Halving"; }
  Tensor project(const Tensor& weight) const override { return weight * 0.5; }
};

struct Case {
  Optimizer optimizer = SGD({.learning_rate = 0.05});
  bool normalizes = false;
  int workers = 1, servers = 1, epochs = 2;
  int64_t batch_size = 8, staleness = -1;
  Partitioner partitioner = {};
  bool synchronous = false;
  int backup_workers = 0;
  double dropout = 0.0;
  Constraint constraint = {};
};

Tensor features(int64_t rows) {
  std::vector<float> values;
  for (int64_t i = 0; i < rows * 4; ++i)
    values.push_back(static_cast<float>(std::sin(0.7 * static_cast<double>(i))));
  return Tensor::from(values, Shape{rows, 4});
}

Tensor targets(int64_t rows) {
  std::vector<float> values;
  for (int64_t i = 0; i < rows; ++i)
    values.push_back(static_cast<float>(std::cos(0.3 * static_cast<double>(i))));
  return Tensor::from(values, Shape{rows, 1});
}

/// Names are given: threads share the counters of names.
Sequential network(const Case& c) {
  Sequential net({Input({4})}, {.name = "net"});
  net.add(Dense(6, {.activation = "tanh",
                    .kernel_initializer = GlorotUniform({.seed = 3}),
                    .kernel_constraint = c.constraint,
                    .name = "hidden"}));
  if (c.normalizes) net.add(BatchNormalization({.name = "norm"}));
  if (c.dropout > 0) net.add(Dropout(c.dropout, {.seed = 5, .name = "drop"}));
  net.add(Dense(1, {.kernel_initializer = GlorotUniform({.seed = 4}), .name = "out"}));
  return net;
}

struct Trained {
  std::vector<double> losses, errors;
  std::vector<std::vector<float>> weights, slots;
  int64_t iterations = 0;
};

Trained train(const Case& c, const Strategy* strategy) {
  const auto run = [&] {
    Sequential net = network(c);
    net.compile({.optimizer = c.optimizer, .loss = "mse", .metrics = {"mae"}});
    const History history =
        net.fit(features(50), targets(50),
                {.batch_size = c.batch_size, .epochs = c.epochs, .verbose = 0, .shuffle = false});
    Trained trained;
    trained.losses = history["loss"];
    trained.errors = history["mae"];
    for (const Variable& variable : net.variables())
      trained.weights.push_back(variable.value().to_vector<float>());
    for (const OptimizerVariable& variable : net.optimizer().node().variables_for_file())
      if (variable.value.dtype() == DType::float32)
        trained.slots.push_back(variable.value.to_vector<float>());
    trained.iterations = net.optimizer().iterations();
    return trained;
  };
  return strategy ? strategy->scope(run) : run();
}

void expect_near(const std::vector<std::vector<float>>& got, const std::vector<std::vector<float>>& wanted,
                 double tolerance) {
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(got[i].size(), wanted[i].size());
    for (size_t j = 0; j < got[i].size(); ++j)
      EXPECT_NEAR(got[i][j], wanted[i][j], tolerance * std::max(1.0F, std::abs(wanted[i][j])))
          << i << " " << j;
  }
}

LocalCluster cluster_of(const Case& c) {
  LocalCluster cluster(c.servers, detail::read_optimizer_rules());
  cluster.staleness = c.staleness;
  cluster.partitioner = c.partitioner;
  cluster.synchronous = c.synchronous;
  cluster.backup_workers = c.backup_workers;
  return cluster;
}

/// What the chief and each worker came to.
std::vector<Trained> train_by_workers(LocalCluster& cluster, const std::function<Case()>& make) {
  const Case c = make();
  std::vector<Trained> results;
  std::vector<std::future<Trained>> workers;
  {
    const ParameterServerStrategy chief = cluster.chief();
    for (int i = 0; i < c.workers; ++i)
      workers.push_back(std::async(std::launch::async, [&cluster, &make] {
        const ParameterServerStrategy worker = cluster.worker();
        return train(make(), &worker);
      }));
    results.push_back(train(c, &chief));
    for (auto& worker : workers) results.push_back(worker.get());
  }
  return results;
}

std::vector<Trained> train_by_workers(const std::function<Case()>& make) {
  LocalCluster cluster = cluster_of(make());
  return train_by_workers(cluster, make);
}

void expect_one_devices_numbers(LocalCluster& cluster, const std::function<Case()>& make) {
  const Trained alone = train(make(), nullptr);
  const std::vector<Trained> results = train_by_workers(cluster, make);
  for (const Trained& result : results) {
    EXPECT_THAT(result.losses, ::testing::Pointwise(::testing::DoubleNear(1e-6), alone.losses));
    EXPECT_THAT(result.errors, ::testing::Pointwise(::testing::DoubleNear(1e-6), alone.errors));
    expect_near(result.weights, alone.weights, 2e-6);
  }
  EXPECT_EQ(results[0].iterations, alone.iterations);
  expect_near(results[0].slots, alone.slots, 2e-6);
}

void expect_one_devices_numbers(const std::function<Case()>& make) {
  LocalCluster cluster = cluster_of(make());
  expect_one_devices_numbers(cluster, make);
}

TEST(FitByWorkers, OneWorkerGivesOneDevicesNumbers) {
  expect_one_devices_numbers([] { return Case{}; });
}

/// The largest prediction: its parts do not add up.
struct Largest final : StatefulMetric {
  std::string class_name() const override { return "Largest"; }
  std::string name() const override { return "largest"; }
  std::vector<MetricVariable> state() const override { return {{"high", {}, StateAggregation::max, -1e30}}; }
  Tensors updated(const Tensors& s, const Tensor&, const Tensor& y_pred, const Tensor&) const override {
    return {ops::maximum(s[0], ops::max(y_pred))};
  }
  Tensor value(const Tensors& s) const override { return s[0]; }
};

/// Keras' recipe for a train_step, with metrics of its own.
struct Recipe : ModelNode {
  Dense last = track("last", Dense(1, {.kernel_initializer = GlorotUniform({.seed = 4}), .name = "last"}));
  Metric tracker = track_metric(metrics::Mean({.name = "own_loss"}));
  Metric error = track_metric(metrics::MeanAbsoluteError());
  Metric largest = track_metric(Metric(std::make_shared<Largest>()));

  std::string class_name() const override { return "Recipe"; }
  Tensor call(Call& c, const Tensor& x) const override { return last(c, x); }
  void train_step(ReplicaStep& step, const Batch& batch) override {
    GradientTape tape;
    const Tensor y_pred = step.forward(batch.x[0]);
    const Tensor loss = step.compute_loss(batch, {y_pred});
    step.apply_gradients(tape.gradient(loss, step.trainable_variables()));
    step.track_loss(tracker, loss);
    error.update_state(batch.y[0], y_pred);
    largest.update_state(batch.y[0], y_pred);
  }
};

TEST(FitByWorkers, MetricsOfATrainStepAreThoseOfOneDevice) {
  using Histories = std::map<std::string, std::vector<double>>;
  const auto trained = [](const Strategy& strategy) {
    const auto scope = strategy.scope();
    const Model model = make_model<Recipe>({.name = "recipe"});
    model.compile({.optimizer = SGD({.learning_rate = 0.1}), .loss = "mse"});
    const History history =
        model.fit(features(50), targets(50), {.batch_size = 8, .epochs = 3, .verbose = 0, .shuffle = false});
    return Histories(history.begin(), history.end());
  };
  const auto expected = trained(OneDeviceStrategy("cpu:0"));
  ASSERT_TRUE(expected.contains("largest"));
  for (const bool synchronous : {false, true}) {
    LocalCluster cluster =
        cluster_of({.servers = 2, .staleness = synchronous ? -1 : 0, .synchronous = synchronous});
    const ParameterServerStrategy chief = cluster.chief();
    std::vector<std::future<Histories>> workers;
    for (int i = 0; i < 3; ++i)
      workers.push_back(std::async(std::launch::async, [&] { return trained(cluster.worker()); }));
    std::vector<Histories> received = {trained(chief)};
    for (auto& worker : workers) received.push_back(worker.get());
    for (const auto& history : received) {
      ASSERT_EQ(history.size(), expected.size());
      for (const auto& [name, values] : expected)
        EXPECT_THAT(history.at(name), ::testing::Pointwise(::testing::DoubleNear(1e-6), values))
            << name << ", synchronous " << synchronous;
    }
  }
}

/// Gradients are applied twice in a step, by one optimizer or by two; what is between them normalizes.
struct AppliesTwice : ModelNode {
  Dense first = track("first", Dense(3, {.kernel_initializer = GlorotUniform({.seed = 4}), .name = "first"}));
  BatchNormalization norm = track("norm", BatchNormalization({.name = "norm"}));
  Dense last = track("last", Dense(1, {.kernel_initializer = GlorotUniform({.seed = 5}), .name = "last"}));
  Optimizer second = {};
  explicit AppliesTwice(const Optimizer& other) {
    if (other) second = track_optimizer("second", other);
  }

  std::string class_name() const override { return "AppliesTwice"; }
  Tensor call(Call& c, const Tensor& x) const override { return last(c, norm(c, first(c, x))); }
  void train_step(ReplicaStep& step, const Batch& batch) override {
    for (const Dense& layer : {first, last}) {
      GradientTape tape;
      const Tensor loss = step.compute_loss(batch, {step.forward(batch.x[0])});
      const Optimizer by = second && layer == last ? second : step.optimizer();
      by.apply_gradients(tape.gradient(loss, layer.trainable_variables()), layer.trainable_variables());
      if (layer == last) step.track_loss(loss);
    }
  }
};

struct TrainedTwice {
  std::vector<double> losses;
  std::vector<std::vector<float>> weights, slots;  // slots of the second optimizer
};

TrainedTwice train_twice(const Strategy& strategy, const Optimizer& second) {
  const auto scope = strategy.scope();
  const Model model = make_model<AppliesTwice>({.name = "twice"}, second);
  model.compile({.optimizer = SGD({.learning_rate = 0.05, .momentum = 0.5}), .loss = "mse"});
  TrainedTwice trained;
  for (int fits = 0; fits < 2; ++fits) {
    const History history =
        model.fit(features(40), targets(40), {.batch_size = 8, .epochs = 2, .verbose = 0, .shuffle = false});
    trained.losses.insert(trained.losses.end(), history["loss"].begin(), history["loss"].end());
  }
  for (const Tensor& weight : model.get_weights()) trained.weights.push_back(weight.to_vector<float>());
  if (second && second.node().built())
    for (const OptimizerVariable& variable : second.node().variables_for_file())
      trained.slots.push_back(variable.value.astype(DType::float32).to_vector<float>());
  return trained;
}

/// `make` gives each process its own second optimizer.
void expect_the_same_twice(const Case& c, const std::function<Optimizer()>& make) {
  const TrainedTwice expected = train_twice(OneDeviceStrategy("cpu:0"), make());
  LocalCluster cluster = cluster_of(c);
  std::vector<std::future<TrainedTwice>> workers;
  TrainedTwice of_chief;
  {
    const ParameterServerStrategy chief = cluster.chief();
    for (int i = 0; i < c.workers; ++i)
      workers.push_back(
          std::async(std::launch::async, [&] { return train_twice(cluster.worker(), make()); }));
    of_chief = train_twice(chief, make());
  }
  EXPECT_THAT(of_chief.losses, ::testing::Pointwise(::testing::DoubleNear(2e-6), expected.losses));
  expect_near(of_chief.weights, expected.weights, 5e-6);
  expect_near(of_chief.slots, expected.slots, 5e-6);
  for (auto& worker : workers) {
    const TrainedTwice trained = worker.get();
    EXPECT_THAT(trained.losses, ::testing::Pointwise(::testing::DoubleNear(2e-6), expected.losses));
    expect_near(trained.weights, expected.weights, 5e-6);
  }
}

TEST(FitByWorkers, GradientsThatAreAppliedTwiceInAStepCountEach) {
  const auto none = [] { return Optimizer(); };
  expect_the_same_twice({.servers = 2}, none);
  expect_the_same_twice({.workers = 3, .servers = 2, .synchronous = true}, none);
}

TEST(FitByWorkers, AModelHasOptimizersOfItsOwn) {
  const auto adam = [] { return Optimizer(Adam({.learning_rate = 0.01})); };
  expect_the_same_twice({.servers = 2}, adam);
  expect_the_same_twice({.workers = 2, .staleness = 0}, adam);
  expect_the_same_twice({.workers = 3, .servers = 2, .synchronous = true}, adam);
  expect_the_same_twice({.workers = 3, .servers = 3, .synchronous = true, .backup_workers = 1}, adam);
  expect_the_same_twice(
      {.workers = 2, .servers = 2, .partitioner = FixedShardsPartitioner(2), .synchronous = true},
      [] { return Optimizer(SGD({.learning_rate = CosineDecay(0.1, 15), .momentum = 0.9})); });
}

/// What a callback makes of its rate before a worker has brought it holds, too.
TEST(FitByWorkers, TheRateOfAnOwnOptimizerIsTheChiefs) {
  const auto trained = [](const Strategy& strategy) {
    const auto scope = strategy.scope();
    const Optimizer second = SGD({.learning_rate = 0.5});
    const Model model = make_model<AppliesTwice>({.name = "twice"}, second);
    model.compile({.optimizer = SGD({.learning_rate = 0.05}), .loss = "mse"});
    LambdaCallback slower(
        {.on_epoch_begin = [&](int epoch, Logs&) { second.set_learning_rate(epoch == 0 ? 0.1 : 0.02); }});
    const History history =
        model.fit(features(40), targets(40),
                  {.batch_size = 8, .epochs = 3, .verbose = 0, .callbacks = {slower}, .shuffle = false});
    return history["loss"];
  };
  const std::vector<double> expected = trained(OneDeviceStrategy("cpu:0"));
  LocalCluster cluster = cluster_of({.synchronous = true});
  const ParameterServerStrategy chief = cluster.chief();
  auto worker = std::async(std::launch::async, [&] { return trained(cluster.worker()); });
  EXPECT_THAT(trained(chief), ::testing::Pointwise(::testing::DoubleNear(2e-6), expected));
  EXPECT_THAT(worker.get(), ::testing::Pointwise(::testing::DoubleNear(2e-6), expected));
}

TEST(FitByWorkers, ArraysOfOtherValuesAreRefused) {
  const auto trained = [](const Strategy& strategy, const Tensor& x) {
    const auto scope = strategy.scope();
    const Sequential net = network({});
    net.compile({.optimizer = SGD(0.1), .loss = "mse"});
    net.fit(x, targets(50), {.batch_size = 8, .epochs = 1, .verbose = 0});
  };
  const auto refusal = [&](const Tensor& of_worker) {
    LocalCluster cluster = cluster_of({});
    const ParameterServerStrategy chief = cluster.chief();
    auto worker = std::async(std::launch::async, [&] { return trained(cluster.worker(), of_worker); });
    const std::string text = error_text<CommunicationError>([&] { trained(chief, features(50)); });
    EXPECT_THROW(worker.get(), CommunicationError);
    return text;
  };
  EXPECT_THAT(refusal(features(50) + 1.0), HasSubstr("expected x = (50, 4) of float32, some of whose rows"));
  EXPECT_THAT(refusal(ops::flip(features(50), {0})), HasSubstr("expected x = "));
  LocalCluster cluster = cluster_of({});
  const ParameterServerStrategy chief = cluster.chief();
  auto worker =
      std::async(std::launch::async, [&] { return trained(cluster.worker(), features(50) * (1.0 + 1e-7)); });
  trained(chief, features(50));  // a processor of another kind
  worker.get();
}

/// An optimizer for each layer; a callback changes the rate of one.
TEST(FitByWorkers, AMultiOptimizerIsServed) {
  const auto trained = [](const Strategy& strategy) {
    const auto scope = strategy.scope();
    const Sequential net = network({.normalizes = true});
    const Optimizer slow = SGD({.learning_rate = 0.05, .momentum = 0.9}), other = Adam(0.01);
    const MultiOptimizer both(
        OptimizerMap(other, {{".*out.*", slow}, {".*norm.*", RMSprop(CosineDecay(0.1, 9))}}));
    net.compile({.optimizer = both, .loss = "mse"});
    LambdaCallback callback({.on_epoch_begin = [&](int epoch, Logs&) {
      if (epoch == 1) slow.set_learning_rate(0.01), other.set_learning_rate(0.03);
    }});
    TrainedTwice result;
    result.losses = net.fit(
        features(40), targets(40),
        {.batch_size = 8, .epochs = 3, .verbose = 0, .callbacks = {callback}, .shuffle = false})["loss"];
    for (const Tensor& weight : net.get_weights()) result.weights.push_back(weight.to_vector<float>());
    for (const OptimizerVariable& variable : both.node().variables_for_file())
      result.slots.push_back(variable.value.astype(DType::float32).to_vector<float>());
    return result;
  };
  const TrainedTwice expected = trained(OneDeviceStrategy("cpu:0"));
  for (const bool synchronous : {false, true}) {
    LocalCluster cluster =
        cluster_of({.servers = 2, .staleness = synchronous ? -1 : 0, .synchronous = synchronous});
    const ParameterServerStrategy chief = cluster.chief();
    std::vector<std::future<TrainedTwice>> workers;
    for (int i = 0; i < 2; ++i)
      workers.push_back(std::async(std::launch::async, [&] { return trained(cluster.worker()); }));
    const TrainedTwice of_chief = trained(chief);
    EXPECT_THAT(of_chief.losses, ::testing::Pointwise(::testing::DoubleNear(2e-6), expected.losses));
    expect_near(of_chief.weights, expected.weights, 5e-6);
    expect_near(of_chief.slots, expected.slots, 5e-6);
    for (auto& worker : workers) expect_near(worker.get().weights, expected.weights, 5e-6);
  }
}

TEST(FitByWorkers, WhatAMultiOptimizerCannotHaveServersIsRefused) {
  const auto refusal = [](const MultiOptimizer& optimizer, const Partitioner& partitioner) {
    LocalCluster cluster = cluster_of({.partitioner = partitioner});
    const ParameterServerStrategy chief = cluster.chief();
    const auto scope = chief.scope();
    const Sequential net = network({});
    net.compile({.optimizer = optimizer, .loss = "mse"});
    return error_text<InvalidArgumentError>(
        [&] { net.fit(features(40), targets(40), {.batch_size = 8, .epochs = 1, .verbose = 0}); });
  };
  const Optimizer sgd = SGD(0.1);
  EXPECT_THAT(refusal(MultiOptimizer(OptimizerMap(Adam(), {{".*out.*", sgd}, {".*hidden.*", sgd}})), {}),
              HasSubstr("one pattern for each"));
  EXPECT_THAT(refusal(MultiOptimizer(OptimizerMap(Adam(), {{".*out.*", SGD()}})), FixedShardsPartitioner(2)),
              HasSubstr("variable_partitioner"));
}

TEST(FitByWorkers, AFileThatAllSaveIsThereBehindIt) {
  const ScratchFolder folder;
  LocalCluster cluster(2, detail::read_optimizer_rules());
  const auto program = [&](const Strategy& strategy, bool is_chief) {
    const auto scope = strategy.scope();
    const Sequential net = network({});
    net.compile({.optimizer = SGD(0.05), .loss = "mse"});
    for (int times = 0; times < 2; ++times) {
      net.fit(features(24), targets(24), {.batch_size = 8, .verbose = 0});
      if (!is_chief) net.save(folder.file("workers-own.keras"));  // waits for nothing that never comes
      if (is_chief) std::this_thread::sleep_for(std::chrono::milliseconds(100));
      net.save(folder.file("net.keras"));
      net.save_weights(folder.file("net.weights.h5"));
      const Model loaded = load_model(folder.file("net.keras"));
      loaded.load_weights(folder.file("net.weights.h5"));
      for (size_t i = 0; i < net.get_weights().size(); ++i)
        EXPECT_EQ(loaded.get_weights()[i].to_vector<float>(), net.get_weights()[i].to_vector<float>());
    }
  };
  std::future<void> worker;
  {
    const ParameterServerStrategy chief = cluster.chief();
    worker = std::async(std::launch::async, [&] { program(cluster.worker(), false); });
    program(chief, true);
  }
  worker.get();
}

// A job that is started again on servers that have lived on.
TEST(FitByWorkers, AnotherChiefBeginsAnew) {
  for (const bool synchronous : {false, true}) {
    const auto make = [=] {
      return Case{.optimizer = SGD({.learning_rate = 0.05, .momentum = 0.9}),
                  .workers = synchronous ? 2 : 1,
                  .servers = 2,
                  .synchronous = synchronous};
    };
    LocalCluster cluster = cluster_of(make());
    expect_one_devices_numbers(cluster, make);
    expect_one_devices_numbers(cluster, make);
  }
}

TEST(FitByWorkers, ServersWithoutVariablesChangeNothing) {
  expect_one_devices_numbers([] { return Case{.optimizer = Adam(0.01), .servers = 7}; });
}

TEST(FitByWorkers, SlotsLieOnTheServers) {
  expect_one_devices_numbers(
      [] { return Case{.optimizer = Adam({.learning_rate = 0.01, .weight_decay = 0.01}), .servers = 3}; });
}

TEST(FitByWorkers, SchedulesCountTheUpdatesOfTheServers) {
  expect_one_devices_numbers([] {
    return Case{.optimizer = SGD({.learning_rate = ExponentialDecay(
                                      {.initial_learning_rate = 0.1, .decay_steps = 3, .decay_rate = 0.5}),
                                  .momentum = 0.9}),
                .servers = 2};
  });
}

TEST(FitByWorkers, MovingStatisticsAreAdded) {
  expect_one_devices_numbers([] { return Case{.normalizes = true, .servers = 2}; });
}

TEST(FitByWorkers, GradientsAreGatheredAtTheServer) {
  expect_one_devices_numbers(
      [] { return Case{.optimizer = SGD({.learning_rate = 0.05, .gradient_accumulation_steps = 3})}; });
}

TEST(FitByWorkers, VariablesInPartsGiveOneDevicesNumbers) {
  expect_one_devices_numbers([] {
    return Case{.optimizer = Adam({.learning_rate = 0.01}),
                .normalizes = true,
                .workers = 2,
                .servers = 3,
                .staleness = 0,
                .partitioner = FixedShardsPartitioner(4)};
  });
}

TEST(FitByWorkers, TheNextFitBeginsWithAveragedWeights) {
  const auto trained_twice = [](const Strategy* strategy) {
    const auto run = [] {
      Sequential net = network({});
      net.compile(
          {.optimizer = SGD({.learning_rate = 0.05, .use_ema = true, .ema_momentum = 0.9}), .loss = "mse"});
      for (int fit = 0; fit < 2; ++fit)
        net.fit(features(50), targets(50), {.batch_size = 8, .epochs = 2, .verbose = 0, .shuffle = false});
      std::vector<std::vector<float>> weights;
      for (const Variable& variable : net.variables()) weights.push_back(variable.value().to_vector<float>());
      return weights;
    };
    return strategy ? strategy->scope(run) : run();
  };
  LocalCluster cluster(2, detail::read_optimizer_rules());
  const ParameterServerStrategy chief = cluster.chief();
  auto worker = std::async(std::launch::async, [&] {
    const ParameterServerStrategy strategy = cluster.worker();
    return trained_twice(&strategy);
  });
  expect_near(trained_twice(&chief), trained_twice(nullptr), 2e-6);
  expect_near(worker.get(), trained_twice(nullptr), 2e-6);
}

TEST(FitByWorkers, OptimizersThatLookAtMoreThanAServerHasAreRefused) {
  const auto refusal = [](const Optimizer& optimizer, int servers, const Partitioner& partitioner) {
    return error_text<InvalidArgumentError>([&] {
      train_by_workers([&] {
        return Case{.optimizer = optimizer, .workers = 0, .servers = servers, .partitioner = partitioner};
      });
    });
  };
  EXPECT_THAT(refusal(SGD({.global_clipnorm = 1.0}), 2, {}), HasSubstr("global_clipnorm"));
  EXPECT_THAT(refusal(SGD({.clipnorm = 1.0}), 2, FixedShardsPartitioner(2)), HasSubstr("clipnorm"));
  EXPECT_THAT(refusal(Muon(), 1, FixedShardsPartitioner(2)), HasSubstr("whole variables"));
  EXPECT_THAT(refusal(LossScaleOptimizer(SGD()), 1, {}), HasSubstr("inner optimizer"));
}

TEST(FitByWorkers, ConstraintsHoldAtTheServers) {
  for (const bool synchronous : {false, true})
    expect_one_devices_numbers([=] {
      return Case{
          .servers = 2, .synchronous = synchronous, .constraint = MaxNorm({.max_value = 0.5, .axis = {0}})};
    });
}

TEST(FitByWorkers, ConstraintsThatServersCannotKeepAreRefused) {
  const auto refusal = [](const Constraint& constraint, const Partitioner& partitioner) {
    return error_text<Error>([&] {
      train_by_workers(
          [&] { return Case{.workers = 0, .partitioner = partitioner, .constraint = constraint}; });
    });
  };
  EXPECT_THAT(refusal(UnitNorm(), FixedShardsPartitioner(2)),
              AllOf(HasSubstr("'net/hidden/kernel'"), HasSubstr("variable_partitioner")));
  EXPECT_THAT(
      refusal(Constraint(std::make_shared<Halving>()), {}),
      AllOf(HasSubstr("'net/hidden/kernel'"), HasSubstr("'Halving'"), HasSubstr("register_serializable")));
}

TEST(FitByWorkers, StatefulLayersAreRefusedWhereWorkersTrainAtTheSameTime) {
  LocalCluster cluster(1, detail::read_optimizer_rules());
  const ParameterServerStrategy chief = cluster.chief();
  const auto scope = chief.scope();
  Sequential net({Input({2, 4}, {.batch_size = 10}), LSTM(3, {.stateful = true}), Dense(1)});
  net.compile({.optimizer = "sgd", .loss = "mse"});
  const Tensor x = ops::reshape(features(100), {50, 2, 4});
  EXPECT_THAT(error_text<InvalidArgumentError>(
                  [&] { net.fit(x, targets(50), {.batch_size = 10, .verbose = 0, .shuffle = false}); }),
              AllOf(HasSubstr("rnn_state"), HasSubstr(".staleness = 0")));
}

TEST(FitByWorkers, ModelsThatWereAdoptedTrain) {
  LocalCluster cluster(2, detail::read_optimizer_rules());
  const auto adopted = [](const Strategy& strategy) {
    Sequential net = network({.normalizes = true});
    net.compile({.optimizer = SGD({.learning_rate = 0.05}), .loss = "mse"});
    strategy.adopt(net);
    net.fit(features(50), targets(50), {.batch_size = 8, .verbose = 0, .shuffle = false});
    std::vector<std::vector<float>> weights;
    for (const Variable& variable : net.variables()) weights.push_back(variable.value().to_vector<float>());
    return weights;
  };
  const ParameterServerStrategy chief = cluster.chief();
  auto worker = std::async(std::launch::async, [&] { return adopted(cluster.worker()); });
  const std::vector<std::vector<float>> weights = adopted(chief);
  const Case alone{.normalizes = true, .epochs = 1};
  const Trained expected = train(alone, nullptr);
  expect_near(weights, expected.weights, 2e-6);
  expect_near(worker.get(), weights, 0.0);
}

TEST(FitByWorkers, WhatAFailedFitLeavesIsNotInTheWayOfTheNext) {
  LocalCluster cluster(1, detail::read_optimizer_rules());
  const auto twice = [](const Strategy& strategy) {
    return strategy.scope([] {
      Sequential net = network({});
      net.compile({.optimizer = SGD({.learning_rate = 0.05}), .loss = "mse"});
      Tensor wrong = features(51);
      EXPECT_ANY_THROW(net.fit(features(50), wrong, {.batch_size = 8, .verbose = 0}));
      return net.fit(features(50), targets(50), {.batch_size = 8, .verbose = 0}).last("loss");
    });
  };
  const ParameterServerStrategy chief = cluster.chief();
  auto worker = std::async(std::launch::async, [&] { return twice(cluster.worker()); });
  double of_chief = 0.0;
  EXPECT_NO_THROW(of_chief = twice(chief));
  EXPECT_EQ(of_chief, worker.get());
}

TEST(FitByWorkers, GlobalNormsAreThoseOfAPushToOneServer) {
  expect_one_devices_numbers(
      [] { return Case{.optimizer = SGD({.learning_rate = 0.1, .global_clipnorm = 0.05})}; });
}

TEST(FitByWorkers, WorkersThatMayNotBeStaleGiveOneDevicesNumbers) {
  expect_one_devices_numbers([] {
    return Case{.optimizer = Adam({.learning_rate = 0.01}),
                .normalizes = true,
                .workers = 3,
                .servers = 2,
                .staleness = 0};
  });
}

TEST(FitByWorkers, WorkersThatTrainTogetherGiveOneDevicesNumbers) {
  for (const int workers : {1, 2, 3})
    for (const int servers : {1, 2}) {
      SCOPED_TRACE(std::to_string(workers) + " workers, " + std::to_string(servers) + " servers");
      expect_one_devices_numbers([=] {
        return Case{.optimizer = Adam({.learning_rate = 0.01}),
                    .normalizes = true,
                    .workers = workers,
                    .servers = servers,
                    .synchronous = true,
                    .dropout = 0.25};
      });
    }
}

TEST(FitByWorkers, SpareWorkersChangeNoNumber) {
  expect_one_devices_numbers([=] {
    return Case{.optimizer = SGD({.learning_rate = 0.05, .momentum = 0.9}),
                .normalizes = true,
                .workers = 4,
                .servers = 2,
                .partitioner = FixedShardsPartitioner(2),
                .synchronous = true,
                .backup_workers = 2};
  });
}

TEST(FitByWorkers, NoGradientIsStalerThanItMayBe) {
  for (const int64_t bound : {1, 2}) {
    LocalCluster cluster(1, detail::read_optimizer_rules());
    cluster.staleness = bound;
    const auto make = [] { return Case{.epochs = 20}; };
    const ParameterServerStrategy chief = cluster.chief();
    std::vector<std::future<Trained>> workers;
    for (int i = 0; i < 4; ++i)
      workers.push_back(std::async(std::launch::async, [&] {
        const ParameterServerStrategy worker = cluster.worker();
        return train(make(), &worker);
      }));
    train(make(), &chief);
    for (auto& worker : workers) worker.get();
    const std::string text = chief.describe();
    EXPECT_THAT(text, HasSubstr("140 exchanges applied"));
    for (int64_t stale = bound + 1; stale < 10; ++stale)
      EXPECT_THAT(text, ::testing::Not(HasSubstr(" " + std::to_string(stale) + ": "))) << text;
  }
}

TEST(FitByWorkers, SeveralWorkersTrainEachBatchOnce) {
  const auto make = [] { return Case{.workers = 3, .servers = 2, .epochs = 6}; };
  const Trained alone = train(make(), nullptr);
  const std::vector<Trained> results = train_by_workers(make);
  for (const Trained& result : results) {
    EXPECT_EQ(result.losses.size(), 6u);
    EXPECT_EQ(result.losses, results[0].losses);
    expect_near(result.weights, results[0].weights, 0.0);
  }
  EXPECT_EQ(results[0].iterations, alone.iterations);
  EXPECT_LT(results[0].losses.back(), 0.95 * results[0].losses.front());
}

}  // namespace

}  // namespace nyala::fit_by_workers_test
