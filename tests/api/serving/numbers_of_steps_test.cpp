// What a train_step reads of its optimizers, and what callbacks of batches set, is the same under parameter
// servers as on one device.
#include <chrono>
#include <cmath>
#include <functional>
#include <future>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/api/serving/optimizer_rule.h>
#include <nyala/nyala.h>
#include <nyala/tests/strategies/parameter_server/parameter_server_fixture.h>
#include <nyala/tests/support/error_text.h>
#include <nyala/tests/support/scratch_folder.h>

namespace nyala::numbers_of_steps_test {

namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAreArray;
using ::testing::Pointwise;
using Numbers = std::vector<double>;
using Program = std::function<Numbers(const Strategy&)>;

Tensor waves(double frequency, const Shape& shape) {
  std::vector<float> values;
  for (int64_t i = 0; i < shape.num_elements(); ++i)
    values.push_back(static_cast<float>(std::sin(frequency * static_cast<double>(i))));
  return Tensor::from(values, shape);
}

struct Layout {
  int workers = 1, servers = 1;
  bool synchronous = false;
  int64_t staleness = -1;
  std::vector<std::string> devices = {};
};

/// Of the chief, then of each worker.
std::vector<Numbers> in_all(const Layout& layout, const Program& program) {
  LocalCluster cluster(layout.servers, detail::read_optimizer_rules());
  cluster.synchronous = layout.synchronous;
  cluster.staleness = layout.staleness;
  cluster.workers = layout.workers;
  cluster.devices = layout.devices;
  std::vector<Numbers> results;
  std::vector<std::future<Numbers>> workers;
  {
    const ParameterServerStrategy chief = cluster.chief();
    for (int i = 0; i < layout.workers; ++i)
      workers.push_back(std::async(std::launch::async, [&, i] { return program(cluster.worker(i)); }));
    results.push_back(program(chief));
  }
  for (auto& worker : workers) results.push_back(worker.get());
  return results;
}

void expect_one_devices_numbers(const Layout& layout, const Program& program) {
  const Numbers expected = program(OneDeviceStrategy("cpu:0"));
  for (const Numbers& numbers : in_all(layout, program))
    EXPECT_THAT(numbers, Pointwise(DoubleNear(3e-6), expected));
}

/// The second optimizer steps every third time, and the loss grows with the first one's rate.
struct Counting : ModelNode {
  Dense first = track("first", Dense(3, {.kernel_initializer = GlorotUniform({.seed = 4}), .name = "first"}));
  Dense last = track("last", Dense(1, {.kernel_initializer = GlorotUniform({.seed = 5}), .name = "last"}));
  Optimizer second;
  explicit Counting(const Optimizer& other) : second(track_optimizer("second", other)) {}

  std::string class_name() const override { return "Counting"; }
  Tensor call(Call& c, const Tensor& x) const override { return last(c, first(c, x)); }
  void train_step(ReplicaStep& step, const Batch& batch) override {
    GradientTape tape;
    const double scale = 1.0 + step.optimizer().learning_rate() + second.learning_rate();
    const Tensor loss = step.compute_loss(batch, {step.forward(batch.x[0])}) * scale;
    const Variables of_first = first.trainable_variables(), of_last = last.trainable_variables();
    Variables all = of_first;
    all.insert(all.end(), of_last.begin(), of_last.end());
    const Tensors gradients = tape.gradient(loss, all);
    const bool is_third = step.optimizer().iterations() % 3 == 0;
    step.apply_gradients({gradients.begin(), gradients.begin() + 2}, of_first);
    if (is_third) second.apply_gradients({gradients.begin() + 2, gradients.end()}, of_last);
    step.track_loss(loss * (1.0 + 0.01 * static_cast<double>(second.iterations())));
  }
};

Numbers count(const Strategy& strategy) {
  const auto scope = strategy.scope();
  const Model model = make_model<Counting>(
      {.name = "counting"}, Optimizer(Adam({.learning_rate = PiecewiseConstantDecay({3}, {0.02, 0.005})})));
  model.compile({.optimizer = SGD({.learning_rate = 0.05, .momentum = 0.5}), .loss = "mse"});
  LambdaCallback slower({.on_epoch_begin = [&](int epoch, Logs&) {
    model.optimizer().set_learning_rate(epoch == 0 ? 0.05 : 0.02);
  }});
  Numbers numbers;
  for (int fits = 0; fits < 2; ++fits) {
    const History history =
        model.fit(waves(0.7, {40, 4}), waves(0.3, {40, 1}),
                  {.batch_size = 8, .epochs = 2, .verbose = 0, .callbacks = {slower}, .shuffle = false});
    numbers.insert(numbers.end(), history["loss"].begin(), history["loss"].end());
    numbers.push_back(static_cast<double>(model.optimizer().iterations()));
    numbers.push_back(model.optimizer().learning_rate());
    const auto& second = dynamic_cast<const Counting&>(model.model_node()).second;
    numbers.push_back(static_cast<double>(second.iterations()));
    numbers.push_back(second.learning_rate());
  }
  for (const Tensor& weight : model.get_weights())
    for (const float value : weight.to_vector<float>()) numbers.push_back(value);
  return numbers;
}

TEST(NumbersOfSteps, ATrainStepReadsThoseOfOneDevice) {
  expect_one_devices_numbers({}, count);
  expect_one_devices_numbers({.workers = 2, .servers = 2, .staleness = 0}, count);
  expect_one_devices_numbers({.workers = 3, .servers = 2, .synchronous = true}, count);
}

TEST(NumbersOfSteps, SeveralReplicasOfAWorkerReadThem) {
  configure_logical_devices("cpu", 2);
  expect_one_devices_numbers({.workers = 2, .servers = 2, .synchronous = true, .devices = {"cpu:0", "cpu:1"}},
                             count);
}

/// Applies its gradients once, or twice.
struct Applying : ModelNode {
  Dense last = track("last", Dense(1, {.kernel_initializer = GlorotUniform({.seed = 5}), .name = "last"}));
  int times;
  bool is_late;
  Applying(int count, bool late) : times(count), is_late(late) {}

  std::string class_name() const override { return "Applying"; }
  Tensor call(Call& c, const Tensor& x) const override { return last(c, x); }
  void train_step(ReplicaStep& step, const Batch& batch) override {
    GradientTape tape;
    const Tensor loss = step.compute_loss(batch, {step.forward(batch.x[0])});
    const Tensors gradients = tape.gradient(loss, step.trainable_variables());
    for (int i = 0; i < times; ++i) {
      if (is_late) std::this_thread::sleep_for(std::chrono::milliseconds(100));
      step.apply_gradients(gradients);
    }
    if (is_late) std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
};

TEST(NumbersOfSteps, AnUpdateThatOneWorkerLeavesOutEndsFit) {
  for (const int who_is_late : {0, 1}) {
    const auto texts = std::make_shared<std::vector<std::string>>(3);
    in_all({.workers = 2, .servers = 2, .synchronous = true}, [&](const Strategy& strategy) {
      const auto scope = strategy.scope();
      const detail::ParameterServerJob& job = *strategy.node().parameter_server_job();
      const Model model = make_model<Applying>({.name = "applying"}, job.place.index == 1 ? 1 : 2,
                                               !job.is_chief() && job.place.index == who_is_late);
      model.compile({.optimizer = SGD(0.1), .loss = "mse"});
      (*texts)[job.is_chief() ? 2
                              : static_cast<size_t>(job.place.index)] = error_text<CommunicationError>([&] {
        model.fit(waves(0.7, {16, 4}), waves(0.3, {16, 1}), {.batch_size = 8, .epochs = 100, .verbose = 0});
      });
      return Numbers();
    });
    for (const std::string& text : *texts) EXPECT_THAT(text, ::testing::HasSubstr("was done with its piece"));
  }
}

Sequential network() {
  Sequential net({Input({4})}, {.name = "net"});
  net.add(
      Dense(6, {.activation = "tanh", .kernel_initializer = GlorotUniform({.seed = 3}), .name = "hidden"}));
  net.add(BatchNormalization({.name = "norm"}));
  net.add(Dense(1, {.kernel_initializer = GlorotUniform({.seed = 4}), .name = "out"}));
  return net;
}

/// Rates that hooks of batches set hold from the next batch on, those that are set before it for it.
Numbers set_rates(const Strategy& strategy, bool before) {
  const auto scope = strategy.scope();
  const Sequential net = network();
  net.compile({.optimizer = SGD({.learning_rate = 0.05, .momentum = 0.9}), .loss = "mse"});
  const auto set = [&](int64_t batch) {
    net.optimizer().set_learning_rate(0.01 * static_cast<double>(batch + 1));
  };
  LambdaCallback rates(
      before ? LambdaCallbackConfig{.on_train_batch_begin = [&](int64_t batch, Logs&) { set(batch); }}
             : LambdaCallbackConfig{.on_train_batch_end = [&](int64_t batch, Logs&) { set(batch); }});
  const History history =
      net.fit(waves(0.7, {48, 4}), waves(0.3, {48, 1}),
              {.batch_size = 8, .epochs = 3, .verbose = 0, .callbacks = {rates}, .shuffle = false});
  Numbers numbers = history["loss"];
  for (const Variable& variable : net.variables())
    for (const float value : variable.value().to_vector<float>()) numbers.push_back(value);
  return numbers;
}

TEST(NumbersOfSteps, RatesThatAreSetBehindABatchHoldForTheNext) {
  const auto program = [](const Strategy& strategy) { return set_rates(strategy, false); };
  expect_one_devices_numbers({.workers = 2, .servers = 2, .synchronous = true}, program);
  for (int i = 0; i < 3; ++i)
    expect_one_devices_numbers({.workers = 3, .servers = 2, .staleness = 0}, program);
}

TEST(NumbersOfSteps, RatesThatAreSetBeforeABatchHoldForIt) {
  const auto program = [](const Strategy& strategy) { return set_rates(strategy, true); };
  expect_one_devices_numbers({.workers = 2, .servers = 2, .synchronous = true}, program);
}

/// Of each batch its beginning comes before its end, also where nobody knows how many there are.
TEST(NumbersOfSteps, HooksOfBatchesComeInTheirOrder) {
  const auto hooks = [](bool has_size, const Strategy& strategy) {
    const auto scope = strategy.scope();
    const Sequential net = network();
    net.compile({.optimizer = SGD({.learning_rate = 0.05}), .loss = "mse"});
    Numbers order;
    LambdaCallback record(
        {.on_train_batch_begin = [&](int64_t batch, Logs&) { order.push_back(static_cast<double>(batch)); },
         .on_train_batch_end = [&](int64_t batch, Logs&) { order.push_back(-static_cast<double>(batch)); }});
    const Dataset sliced = Dataset::from_tensor_slices(waves(0.7, {20, 4}), waves(0.3, {20, 1})).batch(8);
    const Dataset data = has_size ? sliced : sliced.filter([](const Element&) { return true; });
    net.fit(data, {.epochs = 2, .verbose = 0, .callbacks = {record}});
    return order;
  };
  const Numbers expected = {0, 0, 1, -1, 2, -2, 0, 0, 1, -1, 2, -2};
  for (const bool has_size : {true, false})
    for (const bool synchronous : {true, false}) {
      const Layout layout{.workers = 2, .synchronous = synchronous};
      const auto all = in_all(layout, [&](const Strategy& strategy) { return hooks(has_size, strategy); });
      EXPECT_THAT(all[0], ElementsAreArray(expected)) << has_size << " " << synchronous;
      EXPECT_TRUE(all[1].empty() && all[2].empty());
    }
}

/// Moving statistics of several replicas in a process.
TEST(NumbersOfSteps, SeveralDevicesOfAWorkerNormalizeTogether) {
  configure_logical_devices("cpu", 2);
  const auto program = [](const Strategy& strategy) { return set_rates(strategy, false); };
  const std::vector<std::string> devices = {"cpu:0", "cpu:1"};
  for (const int workers : {1, 2})
    expect_one_devices_numbers({.workers = workers, .servers = 2, .synchronous = true, .devices = devices},
                               program);
  expect_one_devices_numbers({.servers = 2, .staleness = 0, .devices = devices}, program);
}

/// Weights, slots and the step of the optimizer.
TEST(NumbersOfSteps, WhatACallbackLoadsTrainingGoesOnWith) {
  const ScratchFolder folder("loads");
  const auto program = [&](const Strategy& strategy) {
    const auto scope = strategy.scope();
    const Sequential net = network();
    net.compile({.optimizer = Adam(0.02), .loss = "mse"});
    const std::string path = folder.file("first_epoch.ckpt");
    LambdaCallback back({.on_epoch_end = [&](int epoch, Logs&) {
      if (epoch == 0) Checkpoint(net).save(path);
      if (epoch == 2) Checkpoint(net).restore(path);
    }});
    const History history =
        net.fit(waves(0.7, {48, 4}), waves(0.3, {48, 1}),
                {.batch_size = 8, .epochs = 5, .verbose = 0, .callbacks = {back}, .shuffle = false});
    Numbers numbers = history["loss"];
    numbers.push_back(static_cast<double>(net.optimizer().iterations()));
    for (const Variable& variable : net.variables())
      for (const float value : variable.value().to_vector<float>()) numbers.push_back(value);
    return numbers;
  };
  expect_one_devices_numbers({.workers = 2, .servers = 2, .synchronous = true}, program);
  expect_one_devices_numbers({.workers = 2, .servers = 2, .staleness = 0}, program);
}

/// As in Keras, which looks behind the first batch.
TEST(NumbersOfSteps, AnEpochThatIsStoppedAtItsBeginHasABatch) {
  const auto program = [](const Strategy& strategy) {
    const auto scope = strategy.scope();
    const Sequential net = network();
    net.compile({.optimizer = Adam(0.02), .loss = "mse"});
    LambdaCallback stop({.on_epoch_begin = [&](int epoch, Logs&) { net.set_stop_training(epoch == 1); }});
    const History history =
        net.fit(waves(0.7, {48, 4}), waves(0.3, {48, 1}),
                {.batch_size = 8, .epochs = 5, .verbose = 0, .callbacks = {stop}, .shuffle = false});
    Numbers numbers = history["loss"];
    numbers.push_back(static_cast<double>(net.optimizer().iterations()));
    return numbers;
  };
  const Numbers alone = program(OneDeviceStrategy("cpu:0"));
  EXPECT_EQ(alone.size(), 3u);
  EXPECT_EQ(alone.back(), 7.0);
  expect_one_devices_numbers({.workers = 2, .servers = 2, .synchronous = true}, program);
  expect_one_devices_numbers({.workers = 2, .servers = 2, .staleness = 0}, program);
}

struct SetsItsRate : ModelNode {
  Dense last = track("last", Dense(1, {.name = "last"}));

  std::string class_name() const override { return "SetsItsRate"; }
  Tensor call(Call& c, const Tensor& x) const override { return last(c, x); }
  void train_step(ReplicaStep& step, const Batch& batch) override {
    step.optimizer().set_learning_rate(0.01);
    GradientTape tape;
    const Tensor loss = step.compute_loss(batch, {step.forward(batch.x[0])});
    step.apply_gradients(tape.gradient(loss, step.trainable_variables()));
  }
};

TEST(NumbersOfSteps, ARateThatAWorkerSetsEndsFit) {
  for (const bool synchronous : {false, true})
    in_all({.workers = 2, .synchronous = synchronous}, [](const Strategy& strategy) {
      const auto scope = strategy.scope();
      const Model model = make_model<SetsItsRate>({.name = "sets_its_rate"});
      model.compile({.optimizer = SGD(0.1), .loss = "mse"});
      const std::string text = error_text<Error>([&] {
        model.fit(waves(0.7, {16, 4}), waves(0.3, {16, 1}), {.batch_size = 8, .verbose = 0});
      });
      EXPECT_THAT(text, ::testing::HasSubstr("cannot set the rate of SGD"));
      return Numbers();
    });
}

}  // namespace

}  // namespace nyala::numbers_of_steps_test
