// What the promise suite does not see: who reads and writes what, and how training ends in all processes.
#include <atomic>
#include <filesystem>

#include <gmock/gmock.h>

#include <nyala/nyala.h>
#include <nyala/tests/conformance/strategies/over_processes.h>
#include <nyala/tests/conformance/strategies/training_support.h>

namespace nyala::training_over_processes_test {

namespace {

using ::testing::HasSubstr;

using TrainingOverProcesses = OverProcesses;

constexpr int64_t kRows = 26, kBatch = 8;

Tensor inputs() { return wave({kRows, 5}, 0.37); }

Tensor labels() { return three_classes(kRows); }

Model classifier() {
  Sequential model({Input({5}), Dense(4, {.activation = "tanh", .kernel_initializer = "ones"}),
                    BatchNormalization(), Dropout(0.25), Dense(3, {.activation = "softmax"})});
  model.compile({.optimizer = SGD({.learning_rate = 0.1}), .loss = "sparse_categorical_crossentropy"});
  return model;
}

void expect_same_weights(const Model& model, const Model& other) {
  const Tensors a = model.get_weights(), b = other.get_weights();
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) expect_numbers(a[i], numbers(b[i]), 1e-5f);
}

Model trained_on_one_device(const FitConfig& fit) {
  const Model model = in_scope(OneDeviceStrategy("cpu:0"), classifier);
  model.fit(inputs(), labels(), fit);
  return model;
}

TEST_P(TrainingOverProcesses, FilesAreWrittenByTheFirstProcessAlone) {
  in_processes([] {
    const MultiWorkerMirroredStrategy several = strategy();
    const FitConfig fit{.batch_size = kBatch, .epochs = 2, .verbose = 0};
    const Model expected = trained_on_one_device(fit);
    const Model model = in_scope(several, classifier);
    // Every process names a folder of its own: what lies there is what it wrote.
    const std::string folder = RankProcesses::folder() + "/of_" + std::to_string(several.rank());
    std::filesystem::create_directory(folder);
    FitConfig saving = fit;
    saving.callbacks = {ModelCheckpoint(folder + "/at_{epoch}.keras"), CSVLogger(folder + "/log.csv")};
    model.fit(inputs(), labels(), saving);
    model.save_weights(folder + "/all.weights.h5");
    model.save_weights(folder + "/all.safetensors");
    Checkpoint(model).save(folder + "/checkpoint.weights.h5");
    const auto files = std::distance(std::filesystem::directory_iterator(folder), {});
    EXPECT_EQ(files, several.is_chief() ? 6 : 0);
    // All can read them.
    const std::string first = RankProcesses::folder() + "/of_0";
    const Model loaded =
        in_scope(OneDeviceStrategy("cpu:0"), [&] { return load_model(first + "/at_2.keras"); });
    expect_same_weights(loaded, expected);
    const Model again = in_scope(several, classifier);
    again.load_weights(first + "/all.weights.h5");
    expect_same_weights(again, expected);
  });
}

TEST_P(TrainingOverProcesses, WhyNoFileWasWrittenIsKnownToAll) {
  in_processes([] {
    const MultiWorkerMirroredStrategy several = strategy();
    const Model model = in_scope(several, classifier);
    try {
      model.save_weights(RankProcesses::folder() + "/none/all.weights.h5");
      ADD_FAILURE() << "a folder that is not there";
    } catch (const Error& error) {
      EXPECT_EQ(dynamic_cast<const CommunicationError*>(&error) == nullptr, several.is_chief());
      EXPECT_THAT(error.what(), testing::HasSubstr("none/all.weights.h5"));
    }
    EXPECT_EQ(several.reduce("sum", several.run([] { return Tensor::full({}, 1.0); })).item(),
              several.num_replicas_in_sync());
  });
}

TEST_P(TrainingOverProcesses, TrainingGoesOnFromACheckpoint) {
  in_processes([] {
    const MultiWorkerMirroredStrategy several = strategy();
    const FitConfig whole{.batch_size = kBatch, .epochs = 4, .verbose = 0};
    const Model expected = trained_on_one_device(whole);
    const std::string folder = RankProcesses::folder() + "/backup";
    const auto train = [&](const std::function<void(int64_t)>& on_batch) {
      const Model model = in_scope(several, classifier);
      FitConfig fit = whole;
      fit.callbacks = {
          BackupAndRestore(folder, {.save_freq = 1}),
          LambdaCallback({.on_train_batch_end = [&](int64_t batch, Logs&) { on_batch(batch); }})};
      model.fit(inputs(), labels(), fit);
      return model;
    };
    int batches = 0;
    struct Stopped {};
    const auto stop = [&](int64_t) {
      if (++batches == 7) throw Stopped();
    };
    EXPECT_THROW(train(stop), Stopped);
    expect_same_weights(train([&](int64_t) { ++batches; }), expected);
    EXPECT_EQ(batches, 16);
    EXPECT_FALSE(std::filesystem::exists(folder));
  });
}

TEST_P(TrainingOverProcesses, WhereOneStopsAllStopInTheSameStep) {
  in_processes([] {
    const MultiWorkerMirroredStrategy several = strategy();
    Model model = in_scope(several, classifier);
    int steps = 0, epochs = 0;
    LambdaCallback stops({.on_epoch_end = [&](int, Logs&) { ++epochs; },
                                .on_train_batch_end = [&](int64_t, Logs&) {
                                  if (++steps == 6 && several.rank() == several.num_processes() - 1)
                                    model.set_stop_training(true);
                                }});
    model.fit(inputs(), labels(), {.batch_size = kBatch, .epochs = 5, .verbose = 0, .callbacks = {stops}});
    EXPECT_EQ(steps, 6);
    EXPECT_EQ(epochs, 2);
  });
}

TEST_P(TrainingOverProcesses, MetricsOfALoopOfOnesOwnAreThoseOfAllRows) {
  in_processes([] {
    const MultiWorkerMirroredStrategy several = strategy();
    metrics::Mean mean;
    metrics::AUC auc;
    const int64_t rows = 13;
    const Tensor scores = ops::sigmoid(wave({rows}, 0.21));
    const Tensor truths = ops::cast(ops::equal(three_classes(rows), 2), DType::float32);
    for (int round = 0; round < 2; ++round) {
      metrics::Mean expected_mean;
      metrics::AUC expected_auc;
      for (int64_t first = 0; first < rows; first += 7) {
        const int64_t count = std::min<int64_t>(7, rows - first);
        several.run([&](const Replica& replica) {
          const RowRange own = several.node().rows_of(replica.id, count);
          const Tensor x = scores.rows(first + own.first, own.count).to(replica.device);
          mean.update_state(x);
          auc.update_state(truths.rows(first + own.first, own.count).to(replica.device), x);
        });
        expected_mean.update_state(scores.rows(first, count));
        expected_auc.update_state(truths.rows(first, count), scores.rows(first, count));
        EXPECT_NEAR(mean.result(), expected_mean.result(), 1e-12);
        EXPECT_NEAR(auc.result(), expected_auc.result(), 1e-12);
      }
      mean.reset_state();
      auc.reset_state();
      EXPECT_EQ(mean.result(), 0);
    }
  });
}

TEST_P(TrainingOverProcesses, TheFirstProcessShowsProgressUnlessOthersAreToldTo) {
  in_processes([] {
    const MultiWorkerMirroredStrategy several = strategy();
    const Model model = in_scope(several, classifier);
    std::string shown;
    const OutputScope here(Output([&](std::string_view text) { shown += text; }));
    const auto shows = [&](const std::function<void()>& work) {
      shown.clear();
      work();
      return !shown.empty();
    };
    EXPECT_EQ(shows([&] { model.fit(inputs(), labels()); }), several.is_chief());
    EXPECT_EQ(shows([&] { model.evaluate(inputs(), labels()); }), several.is_chief());
    EXPECT_EQ(shows([&] { model.predict(inputs()); }), several.is_chief());
    EXPECT_TRUE(shows([&] { model.fit(inputs(), labels(), {.verbose = 2}); }));
    EXPECT_FALSE(shows([&] { model.fit(inputs(), labels(), {.verbose = 0}); }));
  });
}

TEST_P(TrainingOverProcesses, EachProcessMakesOnlyItsRows) {
  in_processes([] {
    const MultiWorkerMirroredStrategy several = strategy();
    std::atomic<int64_t> made{0};
    const Dataset rows = Dataset::from_tensor_slices(inputs(), labels()).map([&](Element row, DrawStream&) {
      ++made;
      return row;
    });
    const Dataset batches = rows.batch(kBatch);
    const Model model = in_scope(several, classifier);
    const History history = model.fit(batches, {.epochs = 1, .verbose = 0});
    int64_t expected_rows = 0;
    for (int64_t first = 0; first < kRows; first += kBatch) {
      int64_t own = 0;
      for (int index = 0; index < several.num_local_replicas(); ++index)
        own +=
            several.node().rows_of(several.node().replica_id(index), std::min(kBatch, kRows - first)).count;
      expected_rows += std::max<int64_t>(own, 1);  // without rows one tells their shapes
    }
    EXPECT_EQ(made, expected_rows);
    const Model expected = in_scope(OneDeviceStrategy("cpu:0"), classifier);
    const History one = expected.fit(batches, {.epochs = 1, .verbose = 0});
    expect_same_weights(model, expected);
    EXPECT_NEAR(history["loss"][0], one["loss"][0], 1e-6);
    expect_numbers(model.predict(batches), numbers(expected.predict(batches)), 1e-5f);
  });
}

TEST_P(TrainingOverProcesses, ALabelOutOfRangeEndsTheStepEverywhere) {
  in_processes([] {
    const MultiWorkerMirroredStrategy several = strategy();
    const Model model = in_scope(several, classifier);
    Tensor wrong = labels().clone();
    wrong.rows(kBatch - 1, 1).copy_from(Tensor::from(std::vector<int64_t>{12}));  // of the last replica
    const bool guilty = several.rank() == several.num_processes() - 1;
    try {
      model.fit(inputs(), wrong, {.batch_size = kBatch, .epochs = 1, .verbose = 0, .shuffle = false});
      FAIL();
    } catch (const NumericError& error) {
      EXPECT_TRUE(guilty) << error.what();
      EXPECT_THAT(error.what(), HasSubstr("label 12"));
    } catch (const CommunicationError& error) {
      EXPECT_FALSE(guilty) << error.what();
      EXPECT_THAT(error.what(), HasSubstr("out of range"));
    }
  });
}

TEST_P(TrainingOverProcesses, DataOfOtherSizesIsAnError) {
  in_processes([] {
    const MultiWorkerMirroredStrategy several = strategy();
    const Model model = in_scope(several, classifier);
    const int64_t rows = several.rank() == 0 ? kRows : 5;
    try {
      model.fit(inputs().rows(0, rows), labels().rows(0, rows), {.batch_size = kBatch, .verbose = 0});
      FAIL();
    } catch (const CommunicationError& error) {
      EXPECT_THAT(error.what(), HasSubstr("rank 0 has one of 8 rows"));
    }
  });
}

/// Keras' recipe for a train_step, with metrics of its own and values in the logs, some of them on replicas
/// with rows alone.
struct Recipe : ModelNode {
  Dense last = track("last", Dense(2, {.dtype = "float64"}));
  Metric tracker = track_metric(metrics::Mean({.name = "own_loss"}));
  Metric error = track_metric(metrics::MeanAbsoluteError());

  Tensor call(Call& c, const Tensor& x) const override { return last(c, x); }
  void train_step(ReplicaStep& step, const Batch& batch) override {
    GradientTape tape;
    const Tensor y_pred = step.forward(batch.x[0]);
    const Tensor loss = step.compute_loss(batch, {y_pred});
    step.apply_gradients(tape.gradient(loss, step.trainable_variables()));
    step.track_loss(tracker, loss);
    error.update_state(batch.y[0], y_pred);
    step.log("rows", Tensor::full({}, static_cast<double>(step.rows()), DType::float64), ReduceOp::sum);
    if (step.rows() > 0) step.log("mean_x", ops::mean(batch.x[0]), ReduceOp::mean);
  }
};

TEST_P(TrainingOverProcesses, MetricsAndLogsOfATrainStepAreThoseOfOneDevice) {
  in_processes([] {
    const Tensor x = wave({9, 3}, 0.7), y = wave({9, 2}, 1.3);
    const auto trained = [&](const Strategy& strategy) {
      const Model model = in_scope(strategy, [] { return make_model<Recipe>(); });
      model.compile({.optimizer = SGD({.learning_rate = 0.1}), .loss = "mse"});
      return model.fit(x, y, {.batch_size = 4, .epochs = 3, .verbose = 0});  // the last batch has one row
    };
    const History expected = trained(OneDeviceStrategy("cpu:0")), received = trained(strategy());
    EXPECT_EQ(received.history().size(), expected.history().size());
    for (const auto& [name, values] : expected.history()) {
      ASSERT_EQ(received[name].size(), values.size()) << name;
      for (size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(received[name][i], values[i], 1e-6) << name;
    }
  });
}

// A loop of one's own: distribute, run, gradients by hand, state of layers.
std::vector<Tensor> trained_by_hand(const Strategy& strategy) {
  const Model model = in_scope(strategy, classifier);
  const Optimizer optimizer = model.optimizer();
  int64_t step = 0;
  double loss = 0;
  for (const DistributedBatch& batch :
       strategy.distribute(Dataset::from_tensor_slices(inputs(), labels()).batch(kBatch))) {
    const PerReplica<> losses = strategy.run(
        [&](const Batch& part) {
          TrainingPass pass(batch, step);
          GradientTape tape;
          const Tensor outputs = pass(model, part.x[0]);
          const Tensor own = ops::sum(ops::sparse_categorical_crossentropy(part.y[0], outputs)) /
                             static_cast<double>(batch.rows);
          const Variables weights = model.trainable_variables();
          optimizer.apply_gradients(tape.gradient(own, weights), weights);
          pass.finish();
          return own.detached();
        },
        batch);
    loss += strategy.reduce("sum", losses).item();
    ++step;
  }
  std::vector<Tensor> left = model.get_weights();
  left.push_back(Tensor::full({}, loss));
  return left;
}

TEST_P(TrainingOverProcesses, ALoopOfOnesOwnGivesTheNumbersOfOneDevice) {
  in_processes([] {
    const auto expected = trained_by_hand(OneDeviceStrategy("cpu:0")), received = trained_by_hand(strategy());
    ASSERT_EQ(received.size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i) expect_numbers(received[i], numbers(expected[i]), 1e-5f);
  });
}

TEST_P(TrainingOverProcesses, EveryProcessMakesDataOfItsOwn) {
  in_processes([] {
    const MultiWorkerMirroredStrategy several = strategy();
    const DistributedDataset data = several.distribute_datasets_from_function([&](const InputContext&
                                                                                      context) {
      EXPECT_EQ(context.num_input_pipelines, several.num_processes());
      EXPECT_EQ(context.input_pipeline_id, several.rank());
      EXPECT_EQ(context.num_replicas_in_sync, several.num_replicas_in_sync());
      const int64_t rows = 3 + context.input_pipeline_id;  // of 2 to each replica, as far as they go
      return Dataset::from_tensor_slices(Tensor::full({rows, 1}, context.input_pipeline_id + 1.0)).batch(2);
    });
    double sum = 0, expected = 0;
    int64_t rows = 0, all = 0;
    for (const DistributedBatch& batch : data) {
      sum += several.reduce("sum", several.run([](const Batch& part) { return ops::sum(part.x[0]); }, batch))
                 .item();
      rows += batch.rows;
    }
    for (int rank = 0; rank < several.num_processes(); ++rank) {
      expected += (3 + rank) * (rank + 1);
      all += 3 + rank;
    }
    EXPECT_EQ(sum, expected);
    EXPECT_EQ(rows, all);
  });
}

INSTANTIATE_TEST_SUITE_P(All, TrainingOverProcesses, ::testing::Values(Layout{2, 1}, Layout{2, 2}),
                         [](const auto& instance) { return instance.param.name(); });

}  // namespace

}  // namespace nyala::training_over_processes_test
