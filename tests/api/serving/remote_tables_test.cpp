// Embeddings whose tables lie on parameter servers: their rows are pulled and pushed, and the numbers are
// those of one device, whatever the optimizer does to rows that a batch does not name.
#include <cmath>
#include <filesystem>
#include <future>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/api/layers/base/row_initializer.h>
#include <nyala/api/serving/optimizer_rule.h>
#include <nyala/api/serving/row_optimizer.h>
#include <nyala/backend/parameters/row_source.h>
#include <nyala/nyala.h>
#include <nyala/strategies/parameter_server/remote_tables.h>
#include <nyala/tests/strategies/parameter_server/parameter_server_fixture.h>
#include <nyala/tests/support/error_text.h>
#include <nyala/tests/support/scratch_folder.h>

namespace nyala::remote_tables_test {

namespace {

using ::testing::HasSubstr;

constexpr int64_t kRows = 23, kColumns = 3, kSamples = 48;

enum class Kind { plain, masked, shared_ids, called_twice };

struct Case {
  std::function<Optimizer()> optimizer = [] { return SGD({.learning_rate = 0.3}); };
  Kind kind = Kind::plain;
  Initializer initializer = RandomUniform({.seed = 5});
  int workers = 1, servers = 1, epochs = 3;
  Partitioner partitioner = {};
  int64_t staleness = 0;
  bool synchronous = false, lazy_rows = false;
};

/// Of four ids a row, with duplicates; most rows are named by few batches.
Tensor ids(int64_t bad = 0) {
  std::vector<int32_t> values;
  for (int64_t i = 0; i < kSamples * 4; ++i)
    values.push_back(static_cast<int32_t>((i * i / 7 + (i % 3 == 0 ? 0 : i / 16)) % kRows));
  if (bad != 0) values[9] = static_cast<int32_t>(bad);
  return Tensor::from(values, Shape{kSamples, 4});
}

Tensor targets() {
  std::vector<float> values;
  for (int64_t i = 0; i < kSamples; ++i)
    values.push_back(static_cast<float>(std::cos(0.3 * static_cast<double>(i))));
  return Tensor::from(values, Shape{kSamples, 1});
}

Embedding embedding(const Case& c, const char* name) {
  return Embedding(
      kRows, kColumns,
      {.embeddings_initializer = c.initializer, .mask_zero = c.kind == Kind::masked, .name = name});
}

Model network(const Case& c) {
  const Tensor in = Input({4}, {.dtype = "int32", .name = "ids"});
  const Embedding first = embedding(c, "first");
  Tensor x = first(in);
  if (c.kind == Kind::shared_ids) x = Concatenate({.name = "both"})(Tensors{x, embedding(c, "second")(in)});
  if (c.kind == Kind::called_twice) {
    const Lambda mirrored([](const Tensor& t) { return 22 - t; }, {.name = "mirrored"});
    x = Concatenate({.axis = 1, .name = "both"})(Tensors{x, first(mirrored(in))});
  }
  x = c.kind == Kind::masked ? GlobalAveragePooling1D({.name = "pool"})(x) : Flatten({.name = "flat"})(x);
  x = Dense(1, {.kernel_initializer = GlorotUniform({.seed = 4}), .name = "out"})(x);
  return Model(in, x, {.name = "clicks"});
}

struct Trained {
  std::vector<double> losses;
  std::vector<std::vector<float>> weights;
  bool is_remote = false;
};

Trained train(const Case& c, const Strategy* strategy) {
  const auto run = [&] {
    Model net = network(c);
    net.compile({.optimizer = c.optimizer(), .loss = "mse"});
    Trained trained;
    trained.is_remote = detail::is_remote_table(net.variables()[0].node());
    trained.losses = net.fit(ids(), targets(),
                             {.batch_size = 8, .epochs = c.epochs, .verbose = 0, .shuffle = false})["loss"];
    for (const Variable& variable : net.variables())
      trained.weights.push_back(variable.value().to_vector<float>());
    return trained;
  };
  return strategy ? strategy->scope(run) : run();
}

std::vector<Trained> train_by_workers(const Case& c) {
  LocalCluster cluster(c.servers, detail::read_optimizer_rules(), detail::read_row_fillers());
  cluster.staleness = c.staleness;
  cluster.partitioner = c.partitioner;
  cluster.remote_rows_above = 0;
  cluster.synchronous = c.synchronous;
  cluster.lazy_rows = c.lazy_rows;
  std::vector<Trained> results;
  std::vector<std::future<Trained>> workers;
  const ParameterServerStrategy chief = cluster.chief();
  for (int i = 0; i < c.workers; ++i)
    workers.push_back(std::async(std::launch::async, [&] {
      const ParameterServerStrategy worker = cluster.worker();
      return train(c, &worker);
    }));
  results.push_back(train(c, &chief));
  for (auto& worker : workers) results.push_back(worker.get());
  return results;
}

void expect_one_devices_numbers(const Case& c) {
  const Trained alone = train(c, nullptr);
  ASSERT_FALSE(alone.is_remote);
  for (const Trained& result : train_by_workers(c)) {
    ASSERT_TRUE(result.is_remote);
    EXPECT_THAT(result.losses, ::testing::Pointwise(::testing::DoubleNear(1e-6), alone.losses));
    ASSERT_EQ(result.weights.size(), alone.weights.size());
    for (size_t i = 0; i < alone.weights.size(); ++i)
      EXPECT_THAT(result.weights[i], ::testing::Pointwise(::testing::FloatNear(1e-6f), alone.weights[i]))
          << i;
  }
}

TEST(RemoteTables, RowsOfSgdAndAdagradAreThoseOfOneDevice) {
  expect_one_devices_numbers({});
  expect_one_devices_numbers({.optimizer = [] { return Adagrad({.learning_rate = 0.3}); }, .servers = 2});
}

TEST(RemoteTables, RowsThatMoveWithoutAGradientAreBroughtUpToDate) {
  expect_one_devices_numbers({.optimizer = [] { return SGD({.learning_rate = 0.1, .momentum = 0.9}); }});
  expect_one_devices_numbers({.optimizer = [] { return Adam({.learning_rate = 0.05}); }});
  expect_one_devices_numbers({.optimizer = [] { return RMSprop({.learning_rate = 0.02}); }});
  expect_one_devices_numbers(
      {.optimizer = [] { return AdamW({.learning_rate = 0.05, .weight_decay = 0.2}); }});
  expect_one_devices_numbers({.optimizer = [] {
    return SGD({.learning_rate =
                    ExponentialDecay({.initial_learning_rate = 0.3, .decay_steps = 3, .decay_rate = 0.5}),
                .weight_decay = 0.05,
                .clipvalue = 0.01});
  }});
}

/// The same training in double: Adam with weight decay, of the table those rows alone that a batch names.
struct LazyAdam {
  static constexpr double kRate = 0.05, kDecay = 0.1, kBeta1 = 0.9, kBeta2 = 0.999, kEpsilon = 1e-7;
  struct Number {
    double value = 0, gradient = 0, m = 0, v = 0;
  };
  std::vector<Number> table, kernel, bias;
  int64_t step = 0;

  static std::vector<Number> from(const Tensor& weight) {
    std::vector<Number> numbers;
    for (const float value : weight.to_vector<float>()) numbers.push_back({value});
    return numbers;
  }
  void update(Number& one) const {
    const auto t = static_cast<double>(step);
    one.value -= one.value * kDecay * kRate;
    one.m += (one.gradient - one.m) * (1 - kBeta1);
    one.v += (one.gradient * one.gradient - one.v) * (1 - kBeta2);
    one.value -= kRate * std::sqrt(1 - std::pow(kBeta2, t)) / (1 - std::pow(kBeta1, t)) * one.m /
                 (std::sqrt(one.v) + kEpsilon);
    one.gradient = 0;
  }
  void train(const std::vector<int32_t>& named, const std::vector<float>& wanted, size_t first, size_t rows) {
    std::set<size_t> touched;
    for (size_t sample = first; sample < first + rows; ++sample) {
      const auto place = [&](size_t k) {
        return static_cast<size_t>(named[4 * sample + k / kColumns]) * kColumns + k % kColumns;
      };
      double error = bias[0].value - wanted[sample];
      for (size_t k = 0; k < kernel.size(); ++k) error += table[place(k)].value * kernel[k].value;
      const double slope = 2 * error / static_cast<double>(rows);
      bias[0].gradient += slope;
      for (size_t k = 0; k < kernel.size(); ++k) {
        touched.insert(place(k));
        table[place(k)].gradient += slope * kernel[k].value;
        kernel[k].gradient += slope * table[place(k)].value;
      }
    }
    ++step;
    for (Number& one : kernel) update(one);
    update(bias[0]);
    for (const size_t one : touched) update(table[one]);
  }
};

TEST(RemoteTables, LazyRowsStayWhereABatchDoesNotNameThem) {
  const Case c{
      .optimizer = [] { return AdamW({.learning_rate = LazyAdam::kRate, .weight_decay = LazyAdam::kDecay}); },
      .servers = 2,
      .partitioner = FixedShardsPartitioner(3),
      .lazy_rows = true};
  const std::vector<Tensor> begin = network(c).get_weights();
  LazyAdam expected{LazyAdam::from(begin[0]), LazyAdam::from(begin[1]), LazyAdam::from(begin[2])};
  for (int epoch = 0; epoch < c.epochs; ++epoch)
    for (size_t first = 0; first < kSamples; first += 8)
      expected.train(ids().to_vector<int32_t>(), targets().to_vector<float>(), first, 8);
  for (const Trained& result : train_by_workers(c)) {
    ASSERT_TRUE(result.is_remote);
    const std::vector<LazyAdam::Number>* const numbers[] = {&expected.table, &expected.kernel,
                                                            &expected.bias};
    for (size_t i = 0; i < 3; ++i)
      for (size_t k = 0; k < numbers[i]->size(); ++k)
        EXPECT_NEAR(result.weights[i][k], (*numbers[i])[k].value, 2e-5) << i << ", " << k;
  }
  EXPECT_NE(train_by_workers(c)[0].weights, train(c, nullptr).weights);
}

TEST(RemoteTables, PartsOnSeveralServersGiveOneDevicesNumbers) {
  for (const int servers : {1, 2, 3})
    expect_one_devices_numbers({.optimizer = [] { return Adam({.learning_rate = 0.05}); },
                                .workers = 2,
                                .servers = servers,
                                .partitioner = FixedShardsPartitioner(4)});
}

TEST(RemoteTables, MasksSharedIdsAndSeveralUsesGiveOneDevicesNumbers) {
  for (const Kind kind : {Kind::masked, Kind::shared_ids, Kind::called_twice})
    expect_one_devices_numbers(
        {.optimizer = [] { return Adagrad({.learning_rate = 0.3}); }, .kind = kind, .servers = 2});
}

TEST(RemoteTables, FirstValuesAreThoseOfOneDevice) {
  for (const Initializer& initializer :
       {Initializer("ones"), Initializer(RandomNormal({.seed = 3})),
        Initializer(TruncatedNormal({.seed = 3})), Initializer(Constant(0.25))})
    expect_one_devices_numbers({.optimizer = [] { return SGD({.learning_rate = 0.01}); },
                                .initializer = initializer,
                                .servers = 2,
                                .partitioner = FixedShardsPartitioner(3)});
}

TEST(RemoteTables, IdsOutOfRangeAreTheUsualError) {
  Case c;
  LocalCluster cluster(1, detail::read_optimizer_rules(), detail::read_row_fillers());
  cluster.remote_rows_above = 0;
  const ParameterServerStrategy chief = cluster.chief();
  const auto text = [&](const Strategy* strategy) {
    const auto run = [&] {
      Model net = network(c);
      return error_text<NumericError>([&] { net.predict(ids(kRows + 4), {.verbose = 0}); });
    };
    return strategy ? strategy->scope(run) : run();
  };
  const std::string usual = text(nullptr);
  EXPECT_THAT(usual, HasSubstr("27"));
  EXPECT_EQ(text(&chief), usual);
}

TEST(RemoteTables, WhatNeedsMoreThanRowsIsRefused) {
  const auto refusal = [](const Case& c) {
    return error_text<InvalidArgumentError>([&] { train_by_workers(c); });
  };
  EXPECT_THAT(refusal({.optimizer = [] { return SGD({.clipnorm = 1.0}); }, .workers = 0}),
              HasSubstr("clipnorm"));
  EXPECT_THAT(refusal({.optimizer = [] { return Lamb(); }, .workers = 0}), HasSubstr("Lamb"));
  EXPECT_THAT(refusal({.optimizer = [] { return SGD({.use_ema = true}); }, .workers = 0}),
              HasSubstr("use_ema"));
  EXPECT_THAT(refusal({.initializer = "glorot_uniform", .workers = 0}), HasSubstr("GlorotUniform"));
  EXPECT_THAT(refusal({.workers = 0, .synchronous = true}), HasSubstr("remote_rows_above"));
}

TEST(RemoteTables, StepsThatNeedTheWholeAreErrors) {
  LocalCluster cluster(1, detail::read_optimizer_rules(), detail::read_row_fillers());
  cluster.remote_rows_above = 0;
  const ParameterServerStrategy chief = cluster.chief();
  chief.scope([] {
    Model net = network({});
    const Variable table = net.variables()[0];
    Call call;
    EXPECT_THAT(error_text<StateError>([&] { call[table]; }), HasSubstr("by rows"));
    EXPECT_THAT(error_text<StateError>([&] { table.assign_add(1.0); }), HasSubstr("scatter_update"));
    GradientTape tape;
    const Tensor loss = net(ids()).mean();
    EXPECT_THAT(error_text<StateError>([&] { tape.gradient(loss, Variables{table}); }), HasSubstr("rows"));
  });
}

TEST(RemoteTables, WholeValuesAreReadAndAssigned) {
  LocalCluster cluster(2, detail::read_optimizer_rules(), detail::read_row_fillers());
  cluster.remote_rows_above = 0;
  cluster.partitioner = FixedShardsPartitioner(3);
  const ParameterServerStrategy chief = cluster.chief();
  const std::string path = (std::filesystem::temp_directory_path() / "remote_tables_test.keras").string();
  std::vector<float> wanted;
  chief.scope([&] {
    Model net = network({});
    const Variable table = net.variables()[0];
    wanted.resize(static_cast<size_t>(kRows * kColumns));
    for (size_t i = 0; i < wanted.size(); ++i) wanted[i] = static_cast<float>(i);
    table.assign(Tensor::from(wanted, table.shape()));
    table.scatter_update(Tensor::from(std::vector<int32_t>{20, 3}), Tensor::zeros({2, kColumns}));
    for (const int64_t row : {3, 20})
      for (int64_t i = 0; i < kColumns; ++i) wanted[static_cast<size_t>(row * kColumns + i)] = 0.0f;
    EXPECT_EQ(table.value().to_vector<float>(), wanted);
    net.save(path);
    table.assign(0.0);
    net.load_weights(path);
    EXPECT_EQ(table.value().to_vector<float>(), wanted);
  });
  EXPECT_EQ(load_model(path).variables()[0].value().to_vector<float>(), wanted);
  std::filesystem::remove(path);
}

TEST(RemoteTables, ServersGoOnFromTheirSnapshots) {
  const ScratchFolder folder;
  const std::string path = folder.file("ps-0.snapshot");
  const auto serve = [&] {
    return std::make_shared<detail::ParameterServer>(detail::read_optimizer_rules(), path,
                                                     detail::read_row_fillers());
  };
  const Case c{.optimizer = [] { return Adam({.learning_rate = 0.05}); }, .epochs = 2};
  LocalCluster cluster(1, detail::read_optimizer_rules(), detail::read_row_fillers());
  cluster.remote_rows_above = 0;
  uint64_t job = 0;
  const auto run = [&](int epochs) {
    const ParameterServerStrategy chief = cluster.chief();
    job = cluster.coordinator->job();
    Case part = c;
    part.epochs = epochs;
    auto worker = std::async(std::launch::async, [&] {
      const ParameterServerStrategy strategy = cluster.worker();
      return train(part, &strategy);
    });
    train(part, &chief);
    return worker.get();
  };
  cluster.servers[0] = serve();
  const Trained before = run(2);
  cluster.servers[0] = serve();  // the end of an epoch has written it
  const auto parameters = cluster.parameters();
  parameters->set_job(job);
  const auto rows = ParameterStore::make({Device{}}, true);
  detail::set_row_source(*rows, parameters->tables());
  const auto first = [] { return RowSource::First{detail::text_of_row_initializer("zeros"), 1}; };
  const Variable found = rows->create({.name = "embeddings",
                                       .path = "first/embeddings",
                                       .shape = {kRows, kColumns},
                                       .initialize = detail::InitializeRows{{}, first}});
  EXPECT_EQ(found.value().to_vector<float>(), before.weights[0]);
  detail::set_row_source(*rows, nullptr);
}

}  // namespace

}  // namespace nyala::remote_tables_test
