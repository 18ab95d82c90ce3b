// Functions of a program's own, carried out by threads that are a cluster's workers.
#include <atomic>
#include <chrono>
#include <cmath>
#include <future>
#include <set>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/api/serving/optimizer_rule.h>
#include <nyala/nyala.h>
#include <nyala/tests/strategies/parameter_server/parameter_server_fixture.h>
#include <nyala/tests/support/error_text.h>
#include <nyala/tests/support/scratch_folder.h>

namespace nyala::functions_by_workers_test {

namespace {

using ::testing::DoubleNear;
using ::testing::HasSubstr;
using ::testing::Pointwise;

constexpr int kSteps = 12;

Tensor features(int step) {
  std::vector<float> values;
  for (int i = 0; i < 32; ++i) values.push_back(static_cast<float>(std::sin(0.7 * (32 * step + i))));
  return Tensor::from(values, Shape{8, 4});
}

Tensor targets(int step) { return ops::sum(features(step), {1}, true); }

/// Names are given: threads share the counters of names.
Sequential network() {
  return Sequential(
      {Input({4}),
       Dense(6, {.activation = "tanh", .kernel_initializer = GlorotUniform({.seed = 3}), .name = "hidden"}),
       BatchNormalization({.name = "norm"}),
       Dense(1, {.kernel_initializer = GlorotUniform({.seed = 4}), .name = "out"})},
      {.name = "net"});
}

double step_of_loop(const Sequential& net, const Optimizer& optimizer, int step) {
  TrainingPass pass(8, {.step = step});
  GradientTape tape;
  const Tensor loss = ops::mean(ops::square(pass(net, features(step)) - targets(step)));
  const Variables weights = net.trainable_variables();
  optimizer.apply_gradients(tape.gradient(loss, weights), weights);
  pass.finish();
  return loss.item();
}

void expect_weights(const Sequential& net, const Sequential& expected) {
  const std::vector<Tensor> weights = net.get_weights(), of_one = expected.get_weights();
  ASSERT_EQ(weights.size(), of_one.size());
  for (size_t i = 0; i < weights.size(); ++i)
    EXPECT_LT(ops::max(ops::abs(weights[i] - of_one[i])).item(), 2e-6) << i;
}

/// A loop whose steps are functions: the same in all processes.
struct LoopByFunctions {
  LoopByFunctions(const Strategy& strategy, const Optimizer& applied)
      : scope(strategy.scope()), net(network()), optimizer(applied), coordinator(strategy) {
    optimizer.build(net.trainable_variables());
  }
  /// In the chief.
  void train() const {
    for (int i = 0; i < kSteps; ++i) coordinator.schedule(step, i);
    coordinator.join();
  }

  const StrategyScope scope;
  const Sequential net;
  const Optimizer optimizer;
  const ClusterCoordinator coordinator;
  const WorkerFunction<double(int)> step =
      coordinator.function("step", [this](int i) { return step_of_loop(net, optimizer, i); });
};

/// The same program in the chief (the test's thread) and in `workers` threads. What the chief's part throws
/// comes out; `workers` end first.
void in_cluster(LocalCluster& cluster, int workers, const std::function<void(const Strategy&)>& program) {
  std::vector<std::future<void>> threads;
  {
    const ParameterServerStrategy chief = cluster.chief();
    for (int i = 0; i < workers; ++i)
      threads.push_back(std::async(std::launch::async, [&] {
        const ParameterServerStrategy worker = cluster.worker();
        program(worker);
      }));
    while (cluster.coordinator->num_workers() < workers)  // whoever comes later finds no chief
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    program(chief);
  }
  for (auto& thread : threads) thread.get();
}

class FunctionsByWorkers : public testing::Test {
 protected:
  LocalCluster cluster{2, detail::read_optimizer_rules()};
};

}  // namespace

TEST_F(FunctionsByWorkers, ValuesTravelThereAndBack) {
  in_cluster(cluster, 1, [](const Strategy& strategy) {
    const ClusterCoordinator coordinator(strategy);
    const auto everything = coordinator.function(
        "everything", [](const Tensor& x, int64_t n, double d, const std::string& s, bool yes,
                         const std::vector<Tensor>& list, const std::map<std::string, int>& dict,
                         const std::pair<float, std::string>& pair, const Batch& batch) {
          return std::tuple(x * 2.0, n + 1, d / 2, s + "!", !yes, list, dict, pair, batch);
        });
    const auto nothing = coordinator.function("nothing", [] {});
    const auto bits = coordinator.function("bits", [](const std::vector<bool>& b) { return b; });
    if (coordinator.serve()) return;
    EXPECT_TRUE(coordinator.is_chief());
    const Tensor x = Tensor::from(std::vector<float>{1, 2, 3}), half = x.astype("bfloat16");
    const Batch batch{.x = {x, half}, .y = {x}, .sample_weight = x};
    const auto [doubled, n, d, s, no, list, dict, pair, same] =
        coordinator
            .schedule(everything, x, int64_t{1} << 60, 1e-300, "a\0b", true,
                      std::vector<Tensor>{x, Tensor(), Tensor::zeros({0, 4}, DType::int64)},
                      std::map<std::string, int>{{"a", -1}}, std::pair<float, std::string>{0.1F, ""}, batch)
            .fetch();
    EXPECT_EQ(doubled.to_vector<float>(), (std::vector<float>{2, 4, 6}));
    EXPECT_EQ(n, (int64_t{1} << 60) + 1);
    EXPECT_EQ(d, 0.5e-300);
    EXPECT_EQ(s, "a!");
    EXPECT_FALSE(no);
    ASSERT_EQ(list.size(), 3u);
    EXPECT_FALSE(list[1].defined());
    EXPECT_EQ(list[2].shape(), (Shape{0, 4}));
    EXPECT_EQ(list[2].dtype(), DType::int64);
    EXPECT_EQ(dict.at("a"), -1);
    EXPECT_EQ(pair.first, 0.1F);
    EXPECT_EQ(same.x[1].dtype(), DType::bfloat16);
    EXPECT_EQ(Tensor(same.sample_weight).to_vector<float>(), x.to_vector<float>());
    coordinator.schedule(nothing).fetch();
    EXPECT_EQ(coordinator.schedule(bits, std::vector<bool>{true, false}).get(),
              (std::vector<bool>{true, false}));
  });
}

TEST_F(FunctionsByWorkers, AChiefWithOtherNamesIsTold) {
  in_cluster(cluster, 1, [](const Strategy& strategy) {
    const auto scope = strategy.scope();
    const ClusterCoordinator coordinator(strategy);
    const Sequential net({Input({4}), Dense(1, {.name = coordinator.is_chief() ? "chiefs" : "workers"})});
    const Optimizer optimizer = SGD(0.1);
    const auto step = coordinator.function("step", [&] { return step_of_loop(net, optimizer, 0); });
    if (coordinator.serve()) return;
    coordinator.schedule(step);
    EXPECT_THAT(error_text<StateError>([&] { coordinator.join(); }),
                HasSubstr("/workers/kernel' and 1 others, which the chief has not made"));
  });
}

TEST_F(FunctionsByWorkers, TheMeanOfARangeInShards) {
  in_cluster(cluster, 3, [](const Strategy& strategy) {
    const ClusterCoordinator coordinator(strategy);
    const auto sum_of = coordinator.function("sum_of", [](int first, int count) {
      return ops::sum(ops::arange(static_cast<double>(first), static_cast<double>(first + count)));
    });
    if (coordinator.serve()) return;
    std::vector<RemoteValue<Tensor>> sums;
    for (int shard = 0; shard < 128; ++shard) sums.push_back(coordinator.schedule(sum_of, 8 * shard, 8));
    coordinator.join();
    EXPECT_TRUE(coordinator.done());
    double sum = 0;
    for (const Tensor& each : coordinator.fetch(sums)) sum += each.item();
    EXPECT_EQ(sum / 1024, 511.5);
  });
}

// One worker sees no stale value.
TEST_F(FunctionsByWorkers, ALoopOfOnesOwnHasOneDevicesNumbers) {
  const Sequential alone = network();
  const Optimizer adam = Adam({.learning_rate = 0.01, .weight_decay = 0.01});
  std::vector<double> losses;
  for (int step = 0; step < kSteps; ++step) {
    if (step == 5) adam.set_learning_rate(0.05);
    losses.push_back(step_of_loop(alone, adam, step));
  }
  in_cluster(cluster, 1, [&](const Strategy& strategy) {
    const auto scope = strategy.scope();
    const Sequential net = network();
    const Optimizer optimizer = Adam({.learning_rate = 0.01, .weight_decay = 0.01});
    optimizer.build(net.trainable_variables());
    const ClusterCoordinator coordinator(strategy);
    const auto train =
        coordinator.function("train", [&](int step) { return step_of_loop(net, optimizer, step); });
    if (coordinator.serve()) return;
    std::vector<RemoteValue<double>> of_steps;
    for (int step = 0; step < kSteps; ++step) {
      if (step == 5) {
        coordinator.join();
        optimizer.set_learning_rate(0.05);
      }
      of_steps.push_back(coordinator.schedule(train, step));
    }
    coordinator.join();
    EXPECT_THAT(coordinator.fetch(of_steps), Pointwise(DoubleNear(1e-6), losses));
    EXPECT_EQ(optimizer.iterations(), kSteps);
    expect_weights(net, alone);
    const auto slots = optimizer.node().variables_for_file(), of_one = adam.node().variables_for_file();
    ASSERT_EQ(slots.size(), of_one.size());
    for (size_t i = 0; i < slots.size(); ++i)
      if (slots[i].value.dtype() == DType::float32)
        EXPECT_LT(ops::max(ops::abs(slots[i].value - of_one[i].value)).item(), 2e-6) << slots[i].name;
  });
}

TEST_F(FunctionsByWorkers, TrainOnBatchHasOneDevicesNumbers) {
  const auto compiled = [] {
    Sequential net = network();
    net.compile({.optimizer = SGD({.learning_rate = 0.05, .momentum = 0.9}), .loss = "mse"});
    return net;
  };
  const Sequential alone = compiled();
  std::vector<double> losses;
  for (int step = 0; step < kSteps; ++step)
    losses.push_back(alone.train_on_batch(features(step), targets(step))["loss"]);
  in_cluster(cluster, 1, [&](const Strategy& strategy) {
    const auto scope = strategy.scope();
    const Sequential net = compiled();
    net.build({None, 4});
    const ClusterCoordinator coordinator(strategy);
    const auto train = coordinator.function(
        "train", [&](const Batch& batch) { return static_cast<double>(net.train_on_batch(batch)["loss"]); });
    if (coordinator.serve()) return;
    expect_error<StateError>([&] { net.train_on_batch(features(0), targets(0)); },
                             {"train_on_batch", "ClusterCoordinator"});
    std::vector<RemoteValue<double>> of_steps;
    for (int step = 0; step < kSteps; ++step)
      of_steps.push_back(coordinator.schedule(train, Batch{.x = {features(step)}, .y = {targets(step)}}));
    coordinator.join();
    EXPECT_THAT(coordinator.fetch(of_steps), Pointwise(DoubleNear(1e-6), losses));
    expect_weights(net, alone);
  });
}

// The whole cluster is started again.
TEST_F(FunctionsByWorkers, TrainingGoesOnFromACheckpoint) {
  const ScratchFolder folder;
  const auto compiled = [] {
    Sequential net = network();
    net.compile({.optimizer = Adam(0.01), .loss = "mse"});
    net.optimizer().build(net.trainable_variables());
    return net;
  };
  const Sequential alone = compiled();
  for (int step = 0; step < kSteps; ++step) alone.train_on_batch(features(step), targets(step));
  for (const int begin : {0, kSteps / 2}) {
    LocalCluster restarted(2, detail::read_optimizer_rules());
    in_cluster(restarted, 1, [&](const Strategy& strategy) {
      const auto scope = strategy.scope();
      const Sequential net = compiled();
      if (begin > 0) Checkpoint(net).restore(folder.file("half.weights.h5"));
      const ClusterCoordinator coordinator(strategy);
      const auto train =
          coordinator.function("train", [&](int step) { net.train_on_batch(features(step), targets(step)); });
      if (coordinator.serve()) return;
      for (int step = begin; step < begin + kSteps / 2; ++step) coordinator.schedule(train, step);
      coordinator.join();
      EXPECT_EQ(net.optimizer().iterations(), begin + kSteps / 2);
      if (begin == 0) return Checkpoint(net).save(folder.file("half.weights.h5"));
      expect_weights(net, alone);
    });
  }
}

TEST_F(FunctionsByWorkers, WhatTheChiefAloneRestoresHolds) {
  const ScratchFolder folder;
  const auto compiled = [] {
    Sequential net = network();
    net.compile({.optimizer = SGD({.learning_rate = 0.05, .momentum = 0.9}), .loss = "mse"});
    net.optimizer().build(net.trainable_variables());
    return net;
  };
  const Sequential alone = compiled();
  for (int step = 0; step < kSteps; ++step) {
    if (step == kSteps / 2) Checkpoint(alone).save(folder.file("half.weights.h5"));
    alone.train_on_batch(features(step), targets(step));
  }
  in_cluster(cluster, 1, [&](const Strategy& strategy) {
    const auto scope = strategy.scope();
    const Sequential net = compiled();
    const ClusterCoordinator coordinator(strategy);
    const auto train =
        coordinator.function("train", [&](int step) { net.train_on_batch(features(step), targets(step)); });
    if (coordinator.serve()) return;
    for (const bool again : {false, true}) {  // the second time over what functions have done
      Checkpoint(net).restore(folder.file("half.weights.h5"));
      for (int step = kSteps / 2; step < kSteps; ++step) coordinator.schedule(train, step);
      coordinator.join();
      EXPECT_EQ(net.optimizer().iterations(), kSteps) << again;
      expect_weights(net, alone);
    }
  });
}

TEST_F(FunctionsByWorkers, AnotherChiefBeginsAnew) {
  for (const double rate : {0.01, 0.05}) {
    const Sequential alone = network();
    const Optimizer adam = Adam(rate);
    for (int step = 0; step < kSteps; ++step) step_of_loop(alone, adam, step);
    in_cluster(cluster, 1, [&](const Strategy& strategy) {
      const LoopByFunctions loop(strategy, Adam(rate));
      if (loop.coordinator.serve()) return;
      loop.train();
      EXPECT_EQ(loop.optimizer.iterations(), kSteps);
      expect_weights(loop.net, alone);
    });
  }
}

TEST_F(FunctionsByWorkers, ARateThatIsSetBeforeTheFirstFunctionHolds) {
  const Sequential alone = network();
  const Optimizer descent = SGD(0.05);
  for (int step = 0; step < kSteps; ++step) step_of_loop(alone, descent, step);
  in_cluster(cluster, 1, [&](const Strategy& strategy) {
    const LoopByFunctions loop(strategy, SGD(0.5));
    if (loop.coordinator.serve()) return;
    loop.optimizer.set_learning_rate(0.05);
    loop.train();
    EXPECT_NEAR(loop.optimizer.learning_rate(), 0.05, 1e-8);
    expect_weights(loop.net, alone);
  });
}

// One that no function applies is not touched by what servers have of the other one.
TEST_F(FunctionsByWorkers, TheOptimizerThatIsAppliedIsTheOneThatFollows) {
  in_cluster(cluster, 2, [&](const Strategy& strategy) {
    const LoopByFunctions loop(strategy, SGD(0.05));
    const Optimizer idle = Adam(0.5);
    idle.build(loop.net.trainable_variables());
    if (loop.coordinator.serve()) return;
    loop.train();
    EXPECT_EQ(loop.optimizer.iterations(), kSteps);
    EXPECT_EQ(idle.iterations(), 0);
    EXPECT_EQ(idle.learning_rate(), 0.5);
    idle.set_learning_rate(0.25);
    expect_error<CommunicationError>([&] { loop.coordinator.schedule(loop.step, 0); }, {"another optimizer"});
  });
}

// With one worker its numbers are those of a loop on one device, step by step.
TEST_F(FunctionsByWorkers, DropoutIsAnotherOneInEachFunction) {
  const auto compiled = [] {
    Sequential net({Input({4}), Dropout(0.5, {.seed = 5, .name = "drop"}),
                    Dense(1, {.kernel_initializer = GlorotUniform({.seed = 4}), .name = "out"})},
                   {.name = "net"});
    net.compile({.optimizer = SGD(0.05), .loss = "mse"});
    return net;
  };
  const Sequential alone = compiled();
  for (int step = 0; step < kSteps; ++step) alone.train_on_batch(features(step), targets(step));
  in_cluster(cluster, 1, [&](const Strategy& strategy) {
    const auto scope = strategy.scope();
    const Sequential net = compiled();
    const ClusterCoordinator coordinator(strategy);
    const auto train =
        coordinator.function("train", [&](int step) { net.train_on_batch(features(step), targets(step)); });
    const auto pass_of = coordinator.function("pass", [&] {
      TrainingPass pass(8);
      return Tensor(pass(net, Tensor::ones({8, 4})));
    });
    if (coordinator.serve()) return;
    for (int step = 0; step < kSteps; ++step) coordinator.schedule(train, step);
    coordinator.join();
    expect_weights(net, alone);
    const Tensor one = coordinator.schedule(pass_of).fetch(), other = coordinator.schedule(pass_of).fetch();
    EXPECT_NE(one.to_vector<float>(), other.to_vector<float>());
  });
}

TEST_F(FunctionsByWorkers, WhatTheChiefAssignsIsWhatWorkersSee) {
  in_cluster(cluster, 2, [](const Strategy& strategy) {
    const auto scope = strategy.scope();
    const Variable variable(Tensor::from(std::vector<float>{1, 2}), {.trainable = false, .name = "v"});
    const ClusterCoordinator coordinator(strategy);
    const auto read = coordinator.function("read", [&] { return variable.value() * 1.0; });
    if (coordinator.serve()) return;
    for (const float value : {3.0F, 5.0F}) {
      variable.assign(Tensor::from(std::vector<float>{value, value}));
      for (int i = 0; i < 4; ++i)
        EXPECT_EQ(coordinator.schedule(read).fetch().to_vector<float>(), (std::vector<float>{value, value}));
    }
  });
}

TEST_F(FunctionsByWorkers, ErrorsArriveWithTheirTypeAndCancelTheRest) {
  std::atomic<bool> goes_on = false;
  in_cluster(cluster, 1, [&](const Strategy& strategy) {
    const ClusterCoordinator coordinator(strategy);
    const auto fail = coordinator.function("fail", [&](int how) {
      while (!goes_on) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      if (how == 1) throw ShapeError("expected (2,)");
      if (how == 2) throw std::runtime_error("no disk");
      return how;
    });
    if (coordinator.serve()) return;
    const auto failing = coordinator.schedule(fail, 1), behind = coordinator.schedule(fail, 0);
    goes_on = true;
    expect_error<ShapeError>([&] { coordinator.join(); }, {"function 'fail' on worker 0: expected (2,)"});
    expect_error<ShapeError>([&] { failing.fetch(); }, {"expected (2,)"});
    expect_error<CommunicationError>([&] { behind.fetch(); }, {"cancelled", "'fail'"});
    coordinator.join();  // the error is forgotten
    EXPECT_EQ(coordinator.schedule(fail, 7).fetch(), 7);
    const auto other = coordinator.schedule(fail, 2);
    expect_error<Error>([&] { other.fetch(); }, {"no disk"});
    expect_error<Error>([&] { coordinator.schedule(fail, 0); }, {"no disk"});
    EXPECT_EQ(coordinator.schedule(fail, 8).fetch(), 8);
  });
}

TEST_F(FunctionsByWorkers, EachWorkerHasItsOwnValues) {
  const Dataset data = Dataset::from_tensor_slices(ops::arange(64.0)).shuffle(64, {.seed = 1}).batch(8);
  std::atomic<int> made = 0, inside = 0;
  in_cluster(cluster, 2, [&](const Strategy& strategy) {
    const ClusterCoordinator coordinator(strategy);
    const auto value = coordinator.create_per_worker_value([&] { return ++made; });
    const auto batches = coordinator.create_per_worker_iterator(data);
    const auto step = coordinator.function(
        "step", [&](const PerWorkerValue<int>& own, const PerWorkerIterator& iterator, bool both) {
          ++inside;  // until both are in it, so that each carries one out
          while (both && inside % 2 != 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
          Batch batch;
          return std::pair(own.get(), iterator->next(batch) ? batch.x[0] : Tensor());
        });
    if (coordinator.serve()) return;
    expect_error<StateError>([&] { value.get(); }, {"the chief has none"});
    const auto first = coordinator.schedule(step, value, batches, true),
               second = coordinator.schedule(step, value, batches, true);
    const auto results = coordinator.fetch(std::vector{first, second});
    EXPECT_EQ((std::set<int>{results[0].first, results[1].first}), (std::set<int>{1, 2}));
    EXPECT_EQ(made, 2);
    int ended = 0;
    for (int i = 0; i < 40; ++i)
      ended += coordinator.schedule(step, value, batches, false).fetch().second.defined() ? 0 : 1;
    EXPECT_GE(ended, 40 - 14);  // each has 8 batches
    EXPECT_EQ(made, 2);
  });
}

TEST_F(FunctionsByWorkers, AFunctionThatIsCarriedOutTwiceCountsOnce) {
  cluster.lease = std::chrono::milliseconds(300);
  std::atomic<int> calls = 0;
  in_cluster(cluster, 2, [&](const Strategy& strategy) {
    const auto scope = strategy.scope();
    const Sequential net = network();
    const Optimizer optimizer = SGD(0.01);
    optimizer.build(net.trainable_variables());
    const ClusterCoordinator coordinator(strategy);
    const auto train = coordinator.function("train", [&](int step) {
      const double loss = step_of_loop(net, optimizer, step);
      if (calls++ == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1500));
      return loss;
    });
    if (coordinator.serve()) return;
    for (int step = 0; step < kSteps; ++step) coordinator.schedule(train, step);
    coordinator.join();
    EXPECT_EQ(calls, kSteps + 1);
    EXPECT_EQ(optimizer.iterations(), kSteps);
    EXPECT_THAT(strategy.describe(), HasSubstr("came a second time"));
  });
}

TEST_F(FunctionsByWorkers, MisuseIsSaid) {
  expect_error<InvalidArgumentError>([] { ClusterCoordinator(MirroredStrategy({.devices = {"cpu:0"}})); },
                                     {"expected a ParameterServerStrategy", "MirroredStrategy"});
  in_cluster(cluster, 1, [](const Strategy& strategy) {
    const auto scope = strategy.scope();
    const Sequential net = network();
    const Optimizer one = SGD(0.1), other = Adam();
    const ClusterCoordinator coordinator(strategy);
    const auto train = coordinator.function(
        "train", [&](bool with_other) { return step_of_loop(net, with_other ? other : one, 0); });
    if (!coordinator.is_chief())
      expect_error<StateError>([&] { coordinator.schedule(train, false); }, {"schedule()", "serve()"});
    expect_error<InvalidArgumentError>([&] { coordinator.function("train", [] {}); }, {"'train'", "already"});
    expect_error<InvalidArgumentError>([&] { coordinator.function("", [] {}); }, {"name"});
    expect_error<StateError>([&] { step_of_loop(net, one, 0); }, {"apply_gradients", "ClusterCoordinator"});
    if (coordinator.serve()) return;
    const auto unknown = coordinator.function("trains", [] {});
    coordinator.schedule(train, false).fetch();
    expect_error<StateError>([&] { coordinator.schedule(train, true).fetch(); },
                             {"one optimizer", "Adam", "MultiOptimizer"});
    expect_error<StateError>([&] { coordinator.join(); }, {"Adam"});
    expect_error<NotFoundError>([&] { coordinator.schedule(unknown).fetch(); },
                                {"'trains'", "did you mean 'train'"});
    expect_error<NotFoundError>([&] { coordinator.done(); }, {"'trains'"});
  });
}

TEST_F(FunctionsByWorkers, AChiefThatFitsAndAWorkerThatServesAreTold) {
  LocalCluster one(1, detail::read_optimizer_rules());
  const ParameterServerStrategy chief = one.chief();
  const auto program = [](const Strategy& strategy) {
    const auto scope = strategy.scope();
    Sequential net = network();
    net.compile({.optimizer = SGD(), .loss = "mse"});
    return net;
  };
  auto worker = std::async(std::launch::async, [&] {
    const ParameterServerStrategy strategy = one.worker();
    program(strategy);
    ClusterCoordinator(strategy).serve();
  });
  const Sequential net = program(chief);
  expect_error<CommunicationError>([&] { net.fit(features(0), targets(0), {.verbose = 0}); },
                                   {"trains by fit(), and a worker serves functions"});
  expect_error<CommunicationError>([&] { worker.get(); }, {"call fit() in workers, too"});
}

TEST_F(FunctionsByWorkers, FitAndFunctionsTakeTurns) {
  in_cluster(cluster, 1, [](const Strategy& strategy) {
    const auto scope = strategy.scope();
    Sequential net = network();
    net.compile({.optimizer = Adam(0.01), .loss = "mse"});
    net.fit(features(0), targets(0), {.batch_size = 4, .epochs = 2, .verbose = 0});
    const ClusterCoordinator coordinator(strategy);
    const auto train = coordinator.function("train", [&](int step) {
      return static_cast<double>(net.train_on_batch(features(step), targets(step))["loss"]);
    });
    if (coordinator.serve()) return;
    for (int step = 0; step < 3; ++step) coordinator.schedule(train, step);
    coordinator.join();
    EXPECT_EQ(net.optimizer().iterations(), 4 + 3);
    const double loss = coordinator.schedule(train, 0).fetch();
    EXPECT_TRUE(std::isfinite(loss));
  });
}

}  // namespace nyala::functions_by_workers_test
