// Loops of the program's own under a synchronous ParameterServerStrategy: the chief and the workers, as
// threads, run the same one, with one device's numbers.
#include <cmath>
#include <functional>
#include <future>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/api/serving/optimizer_rule.h>
#include <nyala/nyala.h>
#include <nyala/tests/strategies/parameter_server/parameter_server_fixture.h>
#include <nyala/tests/support/error_text.h>
#include <nyala/tests/support/scratch_folder.h>

namespace nyala::loops_of_all_test {

namespace {

using ::testing::DoubleNear;
using ::testing::HasSubstr;
using ::testing::Pointwise;

Tensor waves(double frequency, const Shape& shape) {
  std::vector<float> values;
  for (int64_t i = 0; i < shape.num_elements(); ++i)
    values.push_back(static_cast<float>(std::sin(frequency * static_cast<double>(i))));
  return Tensor::from(values, shape);
}

/// Batches of 7 rows, the last one of 2: not all replicas have rows in it.
Dataset rows() { return Dataset::from_tensor_slices(waves(0.7, {30, 4}), waves(0.3, {30, 1})).batch(7); }

Sequential network() {
  Sequential net({Input({4})}, {.name = "net"});
  net.add(
      Dense(6, {.activation = "tanh", .kernel_initializer = GlorotUniform({.seed = 3}), .name = "hidden"}));
  net.add(BatchNormalization({.name = "norm"}));
  net.add(Dropout(0.2, {.seed = 5, .name = "drop"}));
  net.add(Dense(1, {.kernel_initializer = GlorotUniform({.seed = 4}), .name = "out"}));
  return net;
}

struct Looped {
  std::vector<double> numbers;
  std::vector<std::vector<float>> weights, states;
};

void add_state(Looped& looped, const Optimizer& optimizer) {
  looped.numbers.push_back(static_cast<double>(optimizer.iterations()));
  for (const OptimizerVariable& variable : optimizer.node().variables_for_file())
    looped.states.push_back(variable.value.astype(DType::float32).to_vector<float>());
}

/// Two optimizers, of which one's rate changes; a weight that is assigned; sums by reduce() and by metrics.
Looped loop(const Strategy& strategy) {
  const auto scope = strategy.scope();
  const Sequential net = network();
  const Optimizer first = SGD({.learning_rate = 0.1, .momentum = 0.9}), last = Adam(0.01);
  const Variables all = net.trainable_variables();
  const auto middle = std::ssize(all) - 2;
  const Variables hidden(all.begin(), all.begin() + middle), out(all.begin() + middle, all.end());
  const metrics::Mean mean;
  const metrics::MeanAbsoluteError error;
  Looped looped;
  int64_t step = 0;
  for (int epoch = 0; epoch < 3; ++epoch) {
    for (const DistributedBatch& batch : strategy.distribute(rows())) {
      const auto losses = strategy.run(
          [&](const Batch& part) {
            GradientTape tape;
            TrainingPass pass(batch, step);
            const Tensor y = pass(net, part.x[0]);
            const Tensor of_rows = ops::square(y - part.y[0]);
            const double scale = 1.0 + 0.01 * static_cast<double>(first.iterations());
            const Tensor loss = of_rows.sum() * scale / static_cast<double>(batch.rows);
            Variables watched = hidden;
            watched.insert(watched.end(), out.begin(), out.end());
            const Tensors gradients = tape.gradient(loss, watched);
            first.apply_gradients({gradients.begin(), gradients.begin() + middle}, hidden);
            last.apply_gradients({gradients.begin() + middle, gradients.end()}, out);
            pass.finish();
            mean.update_state(of_rows);
            error.update_state(part.y[0], y);
            return loss;
          },
          batch);
      looped.numbers.push_back(strategy.reduce("sum", losses).item());
      looped.numbers.push_back(static_cast<double>(first.iterations() + 2 * last.iterations()));
      looped.numbers.push_back(first.learning_rate());
      ++step;
    }
    looped.numbers.push_back(mean.result());
    looped.numbers.push_back(error.result());
    mean.reset_state();
    if (epoch == 0) first.set_learning_rate(0.02);
    if (epoch == 1) out[0].assign(out[0].value() * 0.5);
  }
  add_state(looped, first);
  add_state(looped, last);
  net.compile({.optimizer = SGD(0.05), .loss = "mse"});
  const History history = net.fit(rows(), {.epochs = 2, .verbose = 0});
  for (const double loss : history["loss"]) looped.numbers.push_back(loss);
  looped.numbers.push_back(net.evaluate(rows(), {.verbose = 0})["loss"]);
  for (const Variable& variable : net.variables())
    looped.weights.push_back(variable.value().to_vector<float>());
  return looped;
}

void expect_near(const std::vector<std::vector<float>>& got, const std::vector<std::vector<float>>& wanted) {
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t i = 0; i < got.size(); ++i)
    for (size_t j = 0; j < std::max(got[i].size(), wanted[i].size()); ++j)
      EXPECT_NEAR(got.at(i).at(j), wanted.at(i).at(j), 2e-5 * std::max(1.0F, std::abs(wanted[i][j])))
          << i << " " << j;
}

LocalCluster cluster_of(int workers, int servers) {
  LocalCluster cluster(servers, detail::read_optimizer_rules());
  cluster.synchronous = true;
  cluster.workers = workers;
  return cluster;
}

/// What the chief and each worker return.
template <class T>
std::vector<T> run_in_all(LocalCluster& cluster, const std::function<T(const Strategy&)>& program) {
  std::vector<T> results;
  std::vector<std::future<T>> workers;
  {
    const ParameterServerStrategy chief = cluster.chief();
    for (int i = 0; i < cluster.workers; ++i)
      workers.push_back(std::async(std::launch::async, [&, i] { return program(cluster.worker(i)); }));
    results.push_back(program(chief));
  }
  for (auto& worker : workers) results.push_back(worker.get());
  return results;
}

void expect_one_devices_numbers(LocalCluster& cluster) {
  const Looped expected = loop(OneDeviceStrategy("cpu:0"));
  for (const Looped& looped : run_in_all<Looped>(cluster, loop)) {
    EXPECT_THAT(looped.numbers, Pointwise(DoubleNear(5e-6), expected.numbers));
    expect_near(looped.weights, expected.weights);
    expect_near(looped.states, expected.states);
  }
}

TEST(LoopsOfAll, GiveOneDevicesNumbers) {
  for (const int workers : {1, 3}) {
    LocalCluster cluster = cluster_of(workers, 2);
    expect_one_devices_numbers(cluster);
  }
}

TEST(LoopsOfAll, TakeVariablesInParts) {
  LocalCluster cluster = cluster_of(2, 3);
  cluster.partitioner = FixedShardsPartitioner(2);
  expect_one_devices_numbers(cluster);
}

TEST(LoopsOfAll, TakeSeveralDevicesInEachProcess) {
  LocalCluster cluster = cluster_of(1, 1);
  configure_logical_devices("cpu", 2);
  cluster.devices = {"cpu:0", "cpu:1"};
  expect_one_devices_numbers(cluster);
}

/// Behind a fit() the chief alone has the optimizer's state; walks are left before their end, and the rate is
/// set behind the last step of one.
TEST(LoopsOfAll, GoOnFromAFitAndFromWalksThatWereLeft) {
  const auto program = [](const Strategy& strategy) {
    const auto scope = strategy.scope();
    const Sequential net = network();
    net.compile({.optimizer = SGD({.learning_rate = 0.05, .momentum = 0.9}), .loss = "mse"});
    net.fit(rows(), {.epochs = 2, .verbose = 0});
    if (detail::ParameterServerJob* const job = strategy.node().parameter_server_job();
        job && job->is_chief())
      std::this_thread::sleep_for(std::chrono::milliseconds(50));  // workers come first
    const Optimizer optimizer = net.optimizer();
    Looped looped;
    int64_t step = 10;
    for (int walk = 0; walk < 3; ++walk) {
      int steps = 0;
      for (const DistributedBatch& batch : strategy.distribute(rows().repeat())) {
        strategy.run(
            [&](const Batch& part) {
              GradientTape tape;
              TrainingPass pass(batch, step);
              const Tensor loss =
                  ops::square(pass(net, part.x[0]) - part.y[0]).sum() / static_cast<double>(batch.rows);
              optimizer.apply_gradients(tape.gradient(loss, net.trainable_variables()),
                                        net.trainable_variables());
              pass.finish();
            },
            batch);
        ++step;
        if (++steps == 3) {
          optimizer.set_learning_rate(0.01 * (walk + 1));
          break;
        }
      }
      looped.numbers.push_back(optimizer.learning_rate());
      add_state(looped, optimizer);
    }
    for (const Variable& variable : net.variables())
      looped.weights.push_back(variable.value().to_vector<float>());
    return looped;
  };
  const Looped expected = program(OneDeviceStrategy("cpu:0"));
  LocalCluster cluster = cluster_of(2, 2);
  for (const Looped& looped : run_in_all<Looped>(cluster, program)) {
    EXPECT_THAT(looped.numbers, Pointwise(DoubleNear(5e-6), expected.numbers));
    expect_near(looped.weights, expected.weights);
    expect_near(looped.states, expected.states);
  }
}

/// A file that is saved inside a walk has the state of then.
TEST(LoopsOfAll, SaveInsideAWalk) {
  const ScratchFolder folder;
  LocalCluster cluster = cluster_of(1, 2);
  const auto program = [&](const Strategy& strategy, const std::string& path) {
    const auto scope = strategy.scope();
    const Sequential net = network();
    net.compile({.optimizer = Adam(0.01), .loss = "mse"});
    const Optimizer optimizer = net.optimizer();
    const Variables weights = net.trainable_variables();
    int64_t step = 0;
    for (const DistributedBatch& batch : strategy.distribute(rows())) {
      strategy.run(
          [&](const Batch& part) {
            GradientTape tape;
            TrainingPass pass(batch, step);
            const Tensor loss = ops::square(pass(net, part.x[0]) - part.y[0]).sum();
            optimizer.apply_gradients(tape.gradient(loss, weights), weights);
            pass.finish();
          },
          batch);
      if (++step == 3) Checkpoint(net).save(path);
    }
    return Looped();
  };
  program(OneDeviceStrategy("cpu:0"), folder.file("alone.weights.h5"));
  run_in_all<Looped>(
      cluster, [&](const Strategy& strategy) { return program(strategy, folder.file("all.weights.h5")); });
  const auto read = [&](const std::string& path) {
    const Sequential net = network();
    net.compile({.optimizer = Adam(0.5), .loss = "mse"});
    Checkpoint(net).restore(path);
    Looped looped;
    add_state(looped, net.optimizer());
    return looped;
  };
  const Looped alone = read(folder.file("alone.weights.h5")), of_all = read(folder.file("all.weights.h5"));
  EXPECT_EQ(of_all.numbers, std::vector<double>{3.0});
  expect_near(of_all.states, alone.states);
}

TEST(LoopsOfAll, OtherVariablesInOneProcessAreAnError) {
  LocalCluster cluster = cluster_of(2, 1);
  const auto texts = run_in_all<std::string>(cluster, [](const Strategy& strategy) {
    const auto scope = strategy.scope();
    const bool is_other = strategy.node().parameter_server_job()->place.index == 1;
    const Variable w(ops::ones({4}), {.name = "w"}), v(ops::ones({4}), {.name = "v"});
    const SGD optimizer(0.1);
    return error_text<CommunicationError>([&] {
      for (const DistributedBatch& batch : strategy.distribute(rows()))
        strategy.run(
            [&](const Batch& part) {
              GradientTape tape;
              const Tensor loss = (part.x[0] * w.value() * v.value()).sum();
              const Variables variables = is_other ? Variables{w} : Variables{w, v};
              optimizer.apply_gradients(tape.gradient(loss, variables), variables);
            },
            batch);
    });
  });
  for (const std::string& text : texts) EXPECT_THAT(text, HasSubstr("the variables that a loop applies"));
}

TEST(LoopsOfAll, SumsOverReplicasAreRefused) {
  LocalCluster cluster = cluster_of(1, 1);
  const auto texts = run_in_all<std::string>(cluster, [](const Strategy& strategy) {
    const auto scope = strategy.scope();
    const Variable weight(ops::ones({4}), {.name = "w"});
    const Variable count(0.0, {.trainable = false,
                               .aggregation = Aggregation::sum,
                               .synchronization = Synchronization::on_read,
                               .name = "count"});
    const SGD optimizer(0.1);
    return error_text<InvalidArgumentError>([&] {
      for (const DistributedBatch& batch : strategy.distribute(rows()))
        strategy.run(
            [&](const Batch& part) {
              GradientTape tape;
              const Tensor loss = (part.x[0] * weight.value()).sum();
              optimizer.apply_gradients({tape.gradient(loss, {weight})}, {weight});
            },
            batch);
    });
  });
  for (const std::string& text : texts) EXPECT_THAT(text, HasSubstr("'count' is a sum over replicas"));
}

/// Who throws ends what the others wait for.
TEST(LoopsOfAll, AnErrorOfOneEndsAll) {
  LocalCluster cluster = cluster_of(2, 1);
  const auto texts = run_in_all<std::string>(cluster, [](const Strategy& strategy) {
    const auto scope = strategy.scope();
    const bool fails =
        strategy.num_local_replicas() == 1 && strategy.node().parameter_server_job()->place.index == 1;
    return error_text<Error>([&] {
      for (const DistributedBatch& batch : strategy.distribute(rows()))
        strategy.run(
            [&](const Batch& part) {
              if (fails) throw InvalidArgumentError("my data is bad");
              get_replica_context()->all_reduce(ReduceOp::sum, part.x[0].sum());
            },
            batch);
    });
  });
  for (const std::string& text : texts) EXPECT_THAT(text, HasSubstr("my data is bad"));
}

/// A process that leaves is named.
TEST(LoopsOfAll, AProcessThatLeavesEndsAll) {
  LocalCluster cluster = cluster_of(2, 1);
  const auto texts = run_in_all<std::string>(cluster, [](const Strategy& strategy) -> std::string {
    const auto scope = strategy.scope();
    const auto first = [&] {
      for (const DistributedBatch& batch : strategy.distribute(rows()))
        strategy.run([](const Batch&) {}, batch);
    };
    first();
    if (strategy.node().parameter_server_job()->place.index == 1) return "";
    return error_text<CommunicationError>(first);
  });
  EXPECT_THAT(texts[0], HasSubstr("worker 1 is gone"));
  EXPECT_THAT(texts[1], HasSubstr("worker 1 is gone"));
}

TEST(LoopsOfAll, GradientsOfAWholeBatchAreAppliedInARun) {
  LocalCluster cluster = cluster_of(1, 1);
  const ParameterServerStrategy chief = cluster.chief();
  const auto scope = chief.scope();
  const Variable weight(ops::ones({2}), {.name = "w"});
  const SGD optimizer(0.1);
  EXPECT_THAT(error_text<StateError>([&] { optimizer.apply_gradients({ops::ones({2})}, {weight}); }),
              HasSubstr("inside strategy.run()"));
}

}  // namespace

}  // namespace nyala::loops_of_all_test
