// More numbers of TensorFlow's own tests of training (see cases_training_test.cpp): whole trainings, metrics
// and BatchNormalization on every strategy.
#include <map>

#include <nyala/tests/conformance/strategies/training_support.h>

namespace nyala {

namespace {

using ::testing::Pointwise;

struct Trained {
  std::vector<double> losses;
  Tensors weights;
  std::map<std::string, double> evaluation;
  Tensor predictions;
};

/// Keras' 3-4-1 network; `rows` of them in batches of 32, two epochs.
Trained trained(const Strategy& strategy, const Loss& loss, const Optimizer& optimizer, int64_t rows,
                const Regularizer& regularizer = {}) {
  clear_session();
  set_random_seed(11);
  const Model model = strategy.scope([&] {
    return Sequential({Input({3}), Dense(4, {.activation = "tanh", .kernel_regularizer = regularizer}),
                       Dense(1, {.kernel_regularizer = regularizer})});
  });
  model.compile({.optimizer = optimizer, .loss = loss, .metrics = {"mae"}});
  const Tensor x = wave({rows, 3}, 0.37), y = wave({rows, 1}, 0.91);
  const History history = model.fit(x, y, {.batch_size = 32, .epochs = 2, .verbose = 0, .shuffle = false});
  Trained out{history["loss"], model.get_weights(), {}, model.predict(x, {.batch_size = 32, .verbose = 0})};
  for (const auto& [name, value] : model.evaluate(x, y, {.batch_size = 32, .verbose = 0}))
    out.evaluation[name] = value;
  return out;
}

void expect_same(const Trained& received, const Trained& expected, double tolerance = 1e-5) {
  EXPECT_THAT(received.losses, Pointwise(::testing::DoubleNear(tolerance), expected.losses));
  for (size_t i = 0; i < expected.weights.size(); ++i)
    expect_numbers(received.weights[i], numbers(expected.weights[i]), static_cast<float>(tolerance));
  for (const auto& [name, value] : expected.evaluation)
    EXPECT_NEAR(received.evaluation.at(name), value, tolerance) << name;
  expect_numbers(received.predictions, numbers(expected.predictions), static_cast<float>(tolerance));
}

TEST(FitCases, Case32_ReductionsOfLosses) {
  for (const char* reduction : {"sum_over_batch_size", "mean", "sum"}) {
    SCOPED_TRACE(reduction);
    const auto run = [&](const Strategy& strategy) {
      return trained(strategy, MeanSquaredError({.reduction = reduction}), SGD(0.001), 96 + 27);
    };
    const Trained expected = run(OneDeviceStrategy("cpu:0"));
    at_every_place(
        [&](const Place&, const Strategy& strategy) { expect_same(run(strategy), expected, 2e-5); });
  }
}

TEST(FitCases, Case33_EvaluateWithWeights) {
  const auto line = [](float slope) {
    return Sequential({Input({1}), Dense(1, {.use_bias = false, .kernel_initializer = Constant(slope)})});
  };
  const Tensor x = column({0, 1, 2, 3}), y = column({2, 4, 6, 8}), weights{0.25f, 0.5f, 0.75f, 1.0f};
  at_every_place([&](const Place&, const Strategy& strategy) {
    for (const auto& [slope, weighted, plain] :
         {std::tuple(1.0f, 10.625, 13.5), std::tuple(0.5f, 17.03125, 20.875)}) {
      const Model model = strategy.scope([&, slope = slope] { return line(slope); });
      model.compile({.optimizer = "sgd", .loss = "mse"});
      EXPECT_NEAR(model.evaluate(x, y, {.batch_size = 2, .verbose = 0, .sample_weight = weights})["loss"],
                  weighted, 1e-6);
      EXPECT_NEAR(model.evaluate(x, y, {.batch_size = 2, .verbose = 0})["loss"], plain, 1e-6);
    }
  });
}

struct Reporting : ModelNode {
  Tensor call(Call&, const Tensor& x) const override { return x; }
  void train_step(ReplicaStep& step, const Batch& batch) override {
    const Tensor y = batch.y[0];
    step.log("sum", ops::sum(y) / 4.0, ReduceOp::sum);
    if (step.rows() > 0) step.log("mean", ops::mean(y), ReduceOp::mean);
    step.track_loss(ops::sum(ops::abs(y - 1.0)) / static_cast<double>(step.global_rows()));
  }
};

// tf-keras adds up what replicas return, Keras 3 averages it; here each value says which.
TEST(FitCases, Case34_ReportedValuesSayHowTheyAreReduced) {
  at_every_place([](const Place&, const Strategy& strategy) {
    const Model model = strategy.scope([] { return make_model<Reporting>(); });
    model.compile({.optimizer = "sgd"});
    const Tensor y = column(range(0, 8));
    const History history = model.fit(y, y, {.batch_size = 4, .verbose = 0, .shuffle = false});
    EXPECT_NEAR(history["loss"][0], 2.75, 1e-6);
    EXPECT_NEAR(history["sum"][0], 5.5, 1e-6);
    EXPECT_NEAR(history["mean"][0], 5.5, 1e-6);
  });
}

TEST(FitCases, Case35_BatchNormalizationTracksTheGlobalMean) {
  at_every_place([](const Place& place, const Strategy& strategy) {
    std::vector<float> values;
    for (int id = 0; id < place.replicas; ++id)
      for (int j = 0; j < 16; ++j)
        for (int i = 0; i < 8; ++i) values.push_back(static_cast<float>(8 * j + i + 100 * id));
    const int64_t rows = 16 * place.replicas;
    const Model model = strategy.scope([] {
      return Sequential({Input({8}), BatchNormalization({.momentum = 0.8})});
    });
    model.compile({.optimizer = SGD(0.0), .loss = "mse"});
    std::vector<float> expected(8, 0.0f);
    for (int step = 0; step < 3; ++step) {
      model.train_on_batch(Tensor::from(values, {rows, 8}), Tensor::zeros({rows, 8}));
      for (size_t i = 0; i < 8; ++i)
        expected[i] +=
            0.2f * (60 + static_cast<float>(i) + 50 * static_cast<float>(place.replicas - 1) - expected[i]);
      expect_copies(model.weights()[2], expected, 1e-4f);
    }
  });
}

TEST(FitCases, Case36_MetricsInsideReplicas) {
  at_every_place([](const Place& place, const Strategy& strategy) {
    const metrics::Mean mean;
    const metrics::Sum sum;
    const metrics::AUC auc({.num_thresholds = 3});
    const metrics::Precision precision;
    const metrics::Recall recall;
    const metrics::SensitivityAtSpecificity sensitivity(0.8);
    const metrics::SpecificityAtSensitivity specificity(0.4);
    int batches = 0;
    for (const DistributedBatch& batch :
         strategy.distribute(Dataset::from_tensor_slices(Tensor::from(range(0, 40))).batch(4))) {
      strategy.run([&](const Batch& part) { mean.update_state(part.x[0]); }, batch);
      EXPECT_NEAR(mean.result(), 2 * ++batches - 0.5, 1e-9);
    }
    strategy.run([&](Replica& replica) {
      sum.update_state(Tensor::full({}, 1.0, DType::float32, replica.device));
      EXPECT_EQ(sum.result(), place.replicas);  // the replicas read it together
    });
    EXPECT_EQ(sum.result(), place.replicas);
    // Six rows of TensorFlow's data of labels and thresholds, in two batches of three.
    const Tensor labels = column({1, 0, 1, 0, 1, 0}), hits = column({1, 1, 0, 0, 1, 1}),
                 scores = column({1.0f, 0.75f, 0.25f, 0.0f, 1.0f, 0.75f});
    const Dataset data = Dataset::from_tensor_slices(Element{.x = {hits, scores}, .y = {labels}}).batch(3);
    for (const DistributedBatch& batch : strategy.distribute(data))
      strategy.run(
          [&](const Batch& part) {
            precision.update_state(part.y[0], part.x[0]);
            recall.update_state(part.y[0], part.x[0]);
            for (const Metric& metric : std::vector<Metric>{auc, sensitivity, specificity})
              metric.update_state(part.y[0], part.x[1]);
          },
          batch);
    EXPECT_NEAR(precision.result(), 0.5, 1e-6);
    EXPECT_NEAR(recall.result(), 2.0 / 3.0, 1e-6);
    EXPECT_NEAR(auc.result(), 1.0 / 2.0, 1e-6);
    EXPECT_NEAR(sensitivity.result(), 2.0 / 3.0, 1e-6);
    EXPECT_NEAR(specificity.result(), 1.0, 1e-6);
    mean.reset_state();
    EXPECT_EQ(mean.result(), 0.0);
  });
}

struct Ends : Callback {
  std::vector<int64_t> begins, ends;
  void on_train_batch_begin(int64_t batch, Logs&) override { begins.push_back(batch); }
  void on_train_batch_end(int64_t batch, Logs&) override { ends.push_back(batch); }
};

// Keras 3.15's numbers of one device, also where its Mirrored strategy fails; tf-keras ends the last chunk
// with the last batch.
TEST(FitCases, Case37_StepsPerExecution) {
  at_every_place([](const Place&, const Strategy& strategy) {
    for (const auto& [count, begins, ends] :
         {std::tuple(10, std::vector<int64_t>{0, 10, 20, 30, 40}, std::vector<int64_t>{9, 19, 29, 39, 49}),
          std::tuple(20, std::vector<int64_t>{0, 20, 40}, std::vector<int64_t>{19, 39, 59}),
          std::tuple(500, std::vector<int64_t>{0}, std::vector<int64_t>{499})}) {
      const Model model = strategy.scope([] { return Sequential({Input({2}), Dense(1)}); });
      model.compile({.optimizer = "sgd", .loss = "mse", .steps_per_execution = count});
      Ends seen;
      model.fit(wave({100, 2}, 0.1), wave({100, 1}, 0.2),
                {.batch_size = 2, .verbose = 0, .callbacks = {seen}});
      EXPECT_EQ(seen.begins, begins);
      EXPECT_EQ(seen.ends, ends);
      EXPECT_EQ(model.optimizer().iterations(), 50);
    }
  });
}

// Partial last batches of 26, 27, 3 and 1 rows: Keras 3 is off by up to 0.05 there.
TEST(FitCases, Case38_AnyBatchIsTheBatchOfOneDevice) {
  for (const int64_t last : {0, 26, 27, 3, 1}) {
    SCOPED_TRACE(last);
    for (const bool adam : {false, true}) {
      const auto run = [&](const Strategy& strategy) {
        return trained(strategy, "mse",
                       adam ? Optimizer(Adam({.learning_rate = 0.01, .clipnorm = 0.1})) : SGD(0.05),
                       96 + last);
      };
      const Trained expected = run(OneDeviceStrategy("cpu:0"));
      at_every_place([&](const Place&, const Strategy& strategy) { expect_same(run(strategy), expected); });
    }
  }
}

/// A loop of one's own over 66 rows in batches of 32.
Trained looped(const Strategy& strategy) {
  clear_session();
  set_random_seed(11);
  const Model model = strategy.scope([] {
    return Sequential({Input({3}), Dense(4, {.activation = "tanh"}), Dense(1)});
  });
  const SGD sgd(0.05);
  const metrics::Mean mean;
  const Dataset data = Dataset::from_tensor_slices(wave({66, 3}, 0.37), wave({66, 1}, 0.91)).batch(32);
  Trained out;
  for (int epoch = 0; epoch < 2; ++epoch) {
    double total = 0;
    for (const DistributedBatch& batch : strategy.distribute(data)) {
      const PerReplica<> losses = strategy.run(
          [&](const Batch& part) {
            GradientTape tape;
            const Tensor error = model(part.x[0]) - part.y[0];
            const Tensor loss = ops::sum(error * error) / static_cast<double>(batch.rows);
            const Variables weights = model.trainable_variables();
            sgd.apply_gradients(tape.gradient(loss, weights), weights);
            return loss.detached();
          },
          batch);
      total += strategy.reduce(ReduceOp::sum, losses).item() * static_cast<double>(batch.rows) / 66;
    }
    out.losses.push_back(total);
  }
  out.weights = model.get_weights();
  out.predictions = model.predict(wave({66, 3}, 0.37), {.verbose = 0});
  return out;
}

TEST(FitCases, Case38_ALoopOfOnesOwn) {
  const Trained expected = looped(OneDeviceStrategy("cpu:0"));
  at_every_place([&](const Place&, const Strategy& strategy) { expect_same(looped(strategy), expected); });
}

TEST(FitCases, Case39_TenRowsInBatchesOfFour) {
  const Tensor x = wave({10, 3}, 0.37), y = wave({10, 1}, 0.91);
  const auto made_model = [&](const Strategy& strategy) {
    clear_session();
    set_random_seed(3);
    const Model model = strategy.scope([] { return Sequential({Input({3}), Dense(2), Dense(1)}); });
    model.compile({.optimizer = "sgd", .loss = "mse", .metrics = {"mae"}});
    return model;
  };
  const Model alone = made_model(OneDeviceStrategy("cpu:0"));
  const Logs logs = alone.evaluate(x, y, {.batch_size = 4, .verbose = 0});
  const std::vector<float> predictions = numbers(alone.predict(x, {.batch_size = 4, .verbose = 0}));
  at_every_place([&](const Place&, const Strategy& strategy) {
    const Model model = made_model(strategy);
    const Logs received = model.evaluate(x, y, {.batch_size = 4, .verbose = 0});
    for (const auto& [name, value] : logs) EXPECT_NEAR(received[name], value, 1e-5);
    expect_numbers(model.predict(x, {.batch_size = 4, .verbose = 0}), predictions, 1e-5f);
  });
}

TEST(FitCases, Case48_L1L2) {
  const auto run = [](const Strategy& strategy) {
    return trained(strategy, "mse", SGD(0.05), 96 + 27, L1L2({.l1 = 0.01, .l2 = 0.02}));
  };
  const Trained expected = run(OneDeviceStrategy("cpu:0"));
  at_every_place([&](const Place&, const Strategy& strategy) { expect_same(run(strategy), expected); });
}

// Keras 3's statistics become NaN here.
TEST(FitCases, Case49_BatchNormalizationOfNoRows) {
  at_every_place([](const Place&, const Strategy& strategy) {
    const Model model = strategy.scope([] { return Sequential({Input({4, 4, 3}), BatchNormalization()}); });
    model.compile({.optimizer = SGD(0.1), .loss = "mse"});
    const Tensor none = Tensor::zeros({0, 4, 4, 3});
    for (int step = 0; step < 100; ++step) EXPECT_EQ(model.train_on_batch(none, none)["loss"], 0.0);
    const Variables weights = model.weights();  // gamma, beta, moving mean, moving variance
    expect_copies(weights[0], {1, 1, 1});
    expect_copies(weights[1], {0, 0, 0});
    expect_copies(weights[2], {0, 0, 0});
    expect_copies(weights[3], {1, 1, 1});
    EXPECT_EQ(model.predict_on_batch(none).shape(), Shape({0, 4, 4, 3}));
  });
}

/// The same where only some replicas have no rows.
TEST(FitCases, Case49_BatchNormalizationWhereSomeReplicasHaveNoRows) {
  const auto run = [](const Strategy& strategy) {
    clear_session();
    const Model model = strategy.scope([] { return Sequential({Input({4, 4, 3}), BatchNormalization()}); });
    model.compile({.optimizer = SGD(0.1), .loss = "mse"});
    const Tensor one = wave({1, 4, 4, 3}, 0.3);
    for (int step = 0; step < 3; ++step) model.train_on_batch(one, one * 2.0);
    return model.get_weights();
  };
  const Tensors expected = run(OneDeviceStrategy("cpu:0"));
  at_every_place([&](const Place&, const Strategy& strategy) {
    const Tensors received = run(strategy);
    for (size_t i = 0; i < expected.size(); ++i) expect_numbers(received[i], numbers(expected[i]), 1e-5f);
  });
}

}  // namespace

}  // namespace nyala
