// Cases of the conformance table about gradients of single rows, inputs of every kind and generators that are
// restored (case numbers in the tests' names).
#include <nyala/tests/conformance/strategies/training_support.h>

namespace nyala::cases_rows_test {
namespace {

using ::testing::ElementsAre;
using Rows = std::vector<std::vector<int64_t>>;
using Slices = std::vector<std::vector<float>>;

constexpr int64_t kRows = 10;

/// Replica r looks rows[r] of a table of zeros up and brings slices[r] as their gradients, in a loop of one's
/// own. Returns the negative of what one step of SGD(1) makes of the table.
std::vector<float> summed(const Strategy& strategy, const Rows& rows, const Slices& slices) {
  const Variable table = made(strategy, Tensor::zeros({kRows, 1}));
  const SGD sgd(1.0);
  strategy.run([&](Replica& replica) {
    const auto id = static_cast<size_t>(replica.id);
    const auto count = static_cast<int64_t>(rows[id].size());
    GradientTape tape;
    const Tensor taken = ops::take(table.value(), Tensor::from(rows[id]).to(replica.device), 0);
    const Tensor slice = Tensor::from(slices[id], {count, 1}).to(replica.device);
    sgd.apply_gradients(tape.gradient(ops::sum(taken * slice), Variables{table}), {table});
  });
  for (size_t copy = 1; copy < table.num_copies(); ++copy)
    EXPECT_EQ(numbers(table.value(copy)), numbers(table.value(0)));
  return numbers(table.value() * -1.0);
}

/// What the dense gradients add up to.
std::vector<float> dense_sum(const Rows& rows, const Slices& slices, int replicas) {
  std::vector<float> sum(kRows, 0.0f);
  for (size_t r = 0; r < static_cast<size_t>(replicas); ++r)
    for (size_t i = 0; i < rows[r].size(); ++i) sum[static_cast<size_t>(rows[r][i])] += slices[r][i];
  return sum;
}

// TensorFlow shows the indices with their duplicates (values 1, 2, 3, 4 at 0, 1, 1, 2). Here the dense result
// defines the numbers: rows that are named twice are summed before anything sees them.
TEST(SparseCases, Case05_RowsOfReplicasAreSummed) {
  at_every_place([](const Place& place, const Strategy& strategy) {
    const Rows rows{{0, 1}, {1, 2}, {2, 9}, {9, 0}};
    const Slices slices{{1, 2}, {3, 4}, {5, 6}, {7, 8}};
    const std::vector<float> received = summed(strategy, rows, slices);
    EXPECT_EQ(received, dense_sum(rows, slices, place.replicas));
    if (place.replicas == 2) {
      EXPECT_THAT(received, ElementsAre(1, 5, 4, 0, 0, 0, 0, 0, 0, 0));
    }
  });
}

TEST(SparseCases, Case05_OfUnequalLengths) {
  at_every_place([](const Place& place, const Strategy& strategy) {
    const Rows rows{{0}, {0, 1, 2}, {}, {2, 2, 2, 0}};
    const Slices slices{{1}, {2, 3, 4}, {}, {1, 1, 1, 1}};
    const std::vector<float> received = summed(strategy, rows, slices);
    EXPECT_EQ(received, dense_sum(rows, slices, place.replicas));
    if (place.replicas == 2) {
      EXPECT_THAT(received, ElementsAre(3, 3, 4, 0, 0, 0, 0, 0, 0, 0));
    }
  });
}

/// The same by train_on_batch, where gradients travel as rows from the second step on: row i of the batch
/// looks words[i] up and brings slices[i]. Returns the negative of what each of three steps adds to the
/// table.
std::vector<std::vector<float>> stepped(const Strategy& strategy, const std::vector<int64_t>& words,
                                        const std::vector<float>& slices) {
  const Model model = strategy.scope([] {
    const Tensor word = Input({1}, {.dtype = "int64"}), slice = Input({1});
    const Tensor taken = Flatten()(Embedding(kRows, 1, {.embeddings_initializer = "zeros"})(word));
    return Model({.inputs = {word, slice},
                  .outputs = {Lambda([](const Tensors& x) { return x[0] * x[1]; })({taken, slice})}});
  });
  const auto count = static_cast<int64_t>(words.size());
  model.compile({.optimizer = SGD(static_cast<double>(count)),  // the loss is a mean over rows
                 .loss = [](const Tensor&, const Tensor& y_pred) { return ops::sum(y_pred, {-1}); }});
  const Batch batch{.x = {Tensor::from(words, {count, 1}), column(slices)},
                    .y = {Tensor::zeros({count, 1})},
                    .sample_weight = {}};
  std::vector<std::vector<float>> added;
  std::vector<float> before(kRows, 0.0f);
  for (int step = 0; step < 3; ++step) {
    model.train_on_batch(batch);
    const std::vector<float> after = numbers(model.get_weights()[0]);
    added.emplace_back();
    for (size_t i = 0; i < after.size(); ++i) added.back().push_back(before[i] - after[i]);
    before = after;
  }
  return added;
}

TEST(SparseCases, Case05_RowsThatTravelAsRows) {
  const std::vector<float> expected{1, 5, 4, 0, 0, 0, 0, 0, 0, 0};
  at_every_place([&](const Place&, const Strategy& strategy) {  // two replicas: 0 and 1 here, 1 and 2 there
    for (const auto& added : stepped(strategy, {0, 1, 1, 2}, {1, 2, 3, 4})) EXPECT_EQ(added, expected);
  });
}

TEST(SparseCases, Case05_RowsThatTravelInUnequalNumbers) {
  configure_logical_devices("cpu", 2);
  const std::vector<std::string> two{"cpu:0", "cpu:1"};
  const std::vector<Strategy> strategies{
      MirroredStrategy({.devices = two, .device_weights = {1, 3}}),
      MirroredStrategy({.devices = two, .device_weights = {1, 3}, .shared_weights = SharedWeights::never}),
      CentralStorageStrategy({.compute_devices = two, .device_weights = {1, 3}})};
  for (const Strategy& strategy : strategies)
    for (const auto& added : stepped(strategy, {0, 0, 1, 2}, {1, 2, 3, 4}))
      EXPECT_THAT(added, ElementsAre(3, 3, 4, 0, 0, 0, 0, 0, 0, 0));
  configure_logical_devices("cpu", 1);
}

/// The global norm is that of the summed rows, and rows that nobody named keep their decay and momentum.
TEST(SparseCases, Case05_ClippingSeesTheSumsOfRows) {
  const auto trained = [](const Strategy& strategy) {
    clear_session();
    set_random_seed(4);
    const Model model = strategy.scope([] {
      return Sequential({Input({3}, {.dtype = "int64"}), Embedding(200, 2), Flatten(), Dense(1)});
    });
    model.compile({.optimizer = SGD(
                       {.learning_rate = 0.5, .momentum = 0.9, .weight_decay = 0.01, .global_clipnorm = 0.1}),
                   .loss = "mse"});
    std::vector<int64_t> words;
    for (int64_t i = 0; i < 39; ++i) words.push_back(i * i % 7);  // the same rows on all replicas, many twice
    model.fit(Tensor::from(words, {13, 3}), wave({13, 1}, 0.7),
              {.batch_size = 5, .epochs = 2, .verbose = 0, .shuffle = false});
    return model.get_weights();
  };
  const Tensors expected = trained(OneDeviceStrategy("cpu:0"));
  at_every_place([&](const Place&, const Strategy& strategy) {
    const Tensors received = trained(strategy);
    for (size_t i = 0; i < expected.size(); ++i) expect_numbers(received[i], numbers(expected[i]), 1e-5f);
  });
}

using Steps = std::vector<std::vector<std::vector<float>>>;

Steps steps_of(const DistributedDataset& batches) {
  Steps steps;
  for (const DistributedBatch& batch : batches) {
    steps.emplace_back();
    for (const Batch& part : batch.parts) steps.back().push_back(numbers(part.x[0]));
  }
  return steps;
}

// TensorFlow has two rules (a batch of 4 for three replicas is [0,1],[2],[3] from files, [0,1],[2,3],[] from
// memory). Here one rule cuts every batch, whatever it comes from.
TEST(InputCases, Case19_TheSourceDoesNotMatter) {
  at_every_place([](const Place& place, const Strategy& strategy) {
    const Tensor eight = Tensor::from(range(0, 8));
    const Steps expected = steps_of(strategy.distribute(Dataset::from_tensor_slices(eight).batch(4)));
    if (place.replicas == 3) {
      EXPECT_EQ(expected, (Steps{{{0, 1}, {2}, {3}}, {{4, 5}, {6}, {7}}}));
    }
    const Dataset mapped =
        Dataset::from_tensor_slices(eight).map([](const Tensor& x) { return x * 1.0; }).batch(4);
    const Dataset generated = Dataset::from_generator([eight] {
                                return [eight, next = int64_t{0}](Element& element) mutable {
                                  if (next == 8) return false;
                                  element = {.x = {eight.rows(next++, 1).with_shape({})}};
                                  return true;
                                };
                              }).batch(4);
    EXPECT_EQ(steps_of(strategy.distribute(mapped)), expected);
    EXPECT_EQ(steps_of(strategy.distribute(generated)), expected);
    EXPECT_EQ(steps_of(strategy.distribute(mapped.prefetch(2))), expected);
  });
}

TEST(InputCases, Case19_MoreReplicasThanRows) {
  configure_logical_devices("cpu", 5);
  const MirroredStrategy five({.devices = {"cpu:0", "cpu:1", "cpu:2", "cpu:3", "cpu:4"}});
  EXPECT_EQ(steps_of(five.distribute(Dataset::from_tensor_slices(Tensor::from(range(0, 4))).batch(4))),
            (Steps{{{0}, {1}, {2}, {3}, {}}}));
  configure_logical_devices("cpu", 1);
}

// A dataset that nobody batched is an error (TensorFlow cuts its elements).
TEST(InputCases, Case19_ADatasetWithoutBatchesIsRefused) {
  at_every_place([](const Place&, const Strategy& strategy) {
    const Dataset rows = Dataset::from_tensor_slices(Tensor::from(range(0, 8)));
    EXPECT_THROW((void)strategy.distribute(rows), InvalidArgumentError);
  });
}

// tf-keras refuses steps_per_execution for data of unknown size; Keras 3 and this library end at the last
// batch.
TEST(FitCases, Case37_StepsPerExecutionOfDataOfUnknownSize) {
  at_every_place([](const Place&, const Strategy& strategy) {
    const Model model = strategy.scope([] { return Sequential({Input({1}), Dense(1)}); });
    model.compile({.optimizer = "sgd", .loss = "mse", .steps_per_execution = 4});
    const Dataset odd = Dataset::from_tensor_slices(column(range(0, 20)), column(range(0, 20)) * 0.01)
                            .filter([](const Element& element) { return numbers(element.y[0])[0] < 0.115f; })
                            .batch(2);
    EXPECT_EQ(odd.cardinality(), kUnknownCardinality);
    model.fit(odd, {.verbose = 0});
    EXPECT_EQ(model.optimizer().iterations(), 6);
  });
}

// TensorFlow's data of labels and thresholds, twelve rows in batches of three: an ROC curve through (0, 1/2)
// and (1/2, 1/2), and what Keras 3.15 says of it.
TEST(FitCases, Case36_TwelveRowsOfLabelsAndThresholds) {
  std::vector<float> labels, scores;
  for (int i = 0; i < 3; ++i) {
    labels.insert(labels.end(), {1, 0, 1, 0});
    scores.insert(scores.end(), {1.0f, 0.75f, 0.25f, 0.0f});
  }
  at_every_place([&](const Place&, const Strategy& strategy) {
    const std::vector<std::pair<Metric, double>> expected{{metrics::AUC(), 0.75},
                                                          {metrics::SensitivityAtSpecificity(0.8), 0.5},
                                                          {metrics::SpecificityAtSensitivity(0.95), 0.5},
                                                          {metrics::SpecificityAtSensitivity(0.4), 1.0},
                                                          {metrics::Precision(), 0.5},
                                                          {metrics::Recall(), 0.5}};
    const Dataset data = Dataset::from_tensor_slices(column(scores), column(labels)).batch(3);
    for (const DistributedBatch& batch : strategy.distribute(data))
      strategy.run(
          [&](const Batch& part) {
            for (const auto& [metric, value] : expected) metric.update_state(part.y[0], part.x[0]);
          },
          batch);
    for (const auto& [metric, value] : expected) EXPECT_NEAR(metric.result(), value, 1e-6) << metric.name();
  });
}

/// The streams of a generator under one number of replicas go on under another.
TEST(ContextCases, Case41_RestoredToAnotherNumberOfReplicas) {
  const auto draws = [](const Strategy& strategy, const Generator& generator) {
    std::vector<std::vector<float>> drawn;
    for (const Tensor& value :
         strategy.run([&](Replica& replica) { return generator.normal({2}).to(replica.device); }))
      drawn.push_back(numbers(value));
    return drawn;
  };
  std::vector<Place> all = places();
  configure_logical_devices("cpu", 4);
  enable_ghost_device();
  const MirroredStrategy four({.devices = {"cpu:0", "cpu:1", "cpu:2", "cpu:3"}});
  const Generator first = four.scope([] { return Generator::from_seed(3); });
  draws(four, first);
  const Tensor state = first.state();
  const auto expected = draws(four, first);
  for (const Place& place : all) {
    SCOPED_TRACE(place.name);
    const Strategy strategy = place.make();
    const Generator restored = strategy.scope([] { return Generator::from_seed(99); });
    restored.reset(state);
    const auto received = draws(strategy, restored);
    for (size_t r = 0; r < received.size(); ++r) EXPECT_EQ(received[r], expected[r]) << "replica " << r;
  }
  configure_logical_devices("cpu", 1);
}

}  // namespace
}  // namespace nyala::cases_rows_test
