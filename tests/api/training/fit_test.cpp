// Numbers and orders as Keras 3.15 gives them for the same calls.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/backend/core/log.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/reduction/reduction.h>
#include <nyala/backend/runtime/random.h>
#include <nyala/tests/api/training/fit_support.h>

namespace nyala::fit_test {

namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const Tensor kX = counting(10), kY = counting(10, 2.0);

std::vector<std::string> names_of(const History& history) {
  std::vector<std::string> names;
  for (const auto& [name, values] : history.history()) names.push_back(name);
  return names;
}

TEST(FitTest, CallbacksComeInOrder) {
  Recorder recorder;
  const Sequential net = still_line();
  net.fit(kX, kY,
          {.batch_size = 4,
           .epochs = 2,
           .verbose = 0,
           .callbacks = {recorder},
           .validation_data = {kX, kY},
           .validation_batch_size = 5,
           .validation_freq = 2});
  EXPECT_THAT(recorder.calls,
              ElementsAre("train_begin", "epoch_begin 0", "batch_begin 0", "batch_end 0", "batch_begin 1",
                          "batch_end 1", "batch_begin 2", "batch_end 2", "epoch_end 0", "epoch_begin 1",
                          "batch_begin 0", "batch_end 0", "batch_begin 1", "batch_end 1", "batch_begin 2",
                          "batch_end 2", "test_begin", "test_batch_begin 0", "test_batch_end 0",
                          "test_batch_begin 1", "test_batch_end 1", "test_end", "epoch_end 1", "train_end"));
}

TEST(FitTest, SeveralCallbacksAreCalledInTheirOrder) {
  std::vector<int> order;
  LambdaCallback first({.on_epoch_end = [&](int, Logs&) { order.push_back(1); }});
  const LambdaCallback second({.on_epoch_end = [&](int, Logs&) { order.push_back(2); }});
  still_line().fit(kX, kY, {.verbose = 0, .callbacks = {first, LambdaCallback(second)}});
  EXPECT_THAT(order, ElementsAre(1, 2));
}

TEST(FitTest, HistoryHasLogsParametersAndEpochs) {
  const Sequential net = still_line();
  net.compile({.optimizer = SGD(0.0), .loss = "mse", .metrics = {"mae"}});
  const History history =
      net.fit(kX, kY, {.batch_size = 4, .epochs = 3, .verbose = 0, .validation_data = {kX, kY}});
  EXPECT_THAT(names_of(history), ElementsAre("loss", "mae", "val_loss", "val_mae"));
  EXPECT_EQ(history["loss"], std::vector<double>(3, 28.5));
  EXPECT_EQ(history["val_mae"], std::vector<double>(3, 4.5));
  EXPECT_THAT(history.epoch(), ElementsAre(0, 1, 2));
  EXPECT_EQ(history.params().epochs, 3);
  EXPECT_EQ(history.params().steps, 3);
  EXPECT_EQ(history.params().verbose, 0);
}

TEST(FitTest, TheDefaultBatchHas32Rows) {
  Recorder recorder;
  still_line().fit(counting(65), counting(65), {.verbose = 0, .callbacks = {recorder}});
  EXPECT_THAT(recorder.with("batch_end"), ElementsAre("batch_end 0", "batch_end 1", "batch_end 2"));
}

/// With a number of steps the data goes on; an epoch that finds less is logged as it is, the next begins
/// anew.
TEST(FitTest, StepsPerEpochGoOnThroughTheData) {
  const Sequential net = still_line();
  Recorder recorder;
  const History history = net.fit(kX, kY,
                                  {.batch_size = 2,
                                   .epochs = 4,
                                   .verbose = 0,
                                   .callbacks = {recorder},
                                   .shuffle = false,
                                   .steps_per_epoch = 2});
  EXPECT_THAT(history["loss"], ElementsAre(3.5, 31.5, 72.5, 3.5));
  EXPECT_THAT(recorder.with("batch_end"),
              ElementsAre("batch_end 0", "batch_end 1", "batch_end 0", "batch_end 1", "batch_end 0",
                          "batch_end 0", "batch_end 1"));
}

TEST(FitTest, DataThatEndsWithAnEpochBeginsAnewWithTheNext) {
  const FitConfig config{.batch_size = 5, .epochs = 4, .verbose = 0, .shuffle = false, .steps_per_epoch = 1};
  EXPECT_THAT(still_line().fit(kX, kY, config)["loss"], ElementsAre(6.0, 51.0, 6.0, 51.0));
  // The same with data whose length nobody knows.
  const Dataset filtered =
      Dataset::from_tensor_slices(kX, kY).filter([](const Element&) { return true; }).batch(5);
  EXPECT_THAT(still_line().fit(filtered, {.epochs = 4, .verbose = 0, .steps_per_epoch = 1})["loss"],
              ElementsAre(6.0, 51.0, 6.0, 51.0));
}

TEST(FitTest, MoreStepsThanTheDataHasWarnAndGoOn) {
  std::vector<std::string> warnings;
  set_log_sink([&](LogChannel, std::string_view text) { warnings.emplace_back(text); });
  const History history = still_line().fit(
      kX, kY, {.batch_size = 2, .epochs = 2, .verbose = 0, .shuffle = false, .steps_per_epoch = 7});
  set_log_sink({});
  EXPECT_THAT(history["loss"], ElementsAre(28.5, 28.5));
  ASSERT_FALSE(warnings.empty());
  EXPECT_THAT(warnings[0], ::testing::HasSubstr("ran out of data"));
}

TEST(FitTest, InitialEpochAndValidationSplitAndFrequency) {
  const Sequential net = still_line();
  Recorder recorder;
  const History history = net.fit(kX, kY,
                                  {.batch_size = 4,
                                   .epochs = 5,
                                   .verbose = 0,
                                   .callbacks = {recorder},
                                   .validation_split = 0.25,
                                   .shuffle = false,
                                   .initial_epoch = 2,
                                   .validation_freq = 2});
  EXPECT_THAT(history.epoch(), ElementsAre(2, 3, 4));
  EXPECT_THAT(history["loss"], ElementsAre(13.0, 13.0, 13.0));  // rows 0 to 6
  ASSERT_EQ(history["val_loss"].size(), 1u);
  EXPECT_NEAR(history["val_loss"][0], (49 + 64 + 81) / 3.0, 1e-4);
  EXPECT_THAT(recorder.with("epoch_begin"), ElementsAre("epoch_begin 2", "epoch_begin 3", "epoch_begin 4"));
  EXPECT_EQ(history.params().steps, 2);
}

TEST(FitTest, NoEpochsIsNoWork) {
  Recorder recorder;
  const History history =
      still_line().fit(kX, kY, {.epochs = 3, .verbose = 0, .callbacks = {recorder}, .initial_epoch = 3});
  EXPECT_THAT(history.epoch(), IsEmpty());
  EXPECT_THAT(recorder.calls, ElementsAre("train_begin", "train_end"));
}

/// The split is taken before shuffling: always the last rows.
TEST(FitTest, ValidationSplitTakesTheLastRowsAlsoWhenShuffled) {
  const History history = still_line().fit(
      kX, kY, {.batch_size = 3, .epochs = 3, .verbose = 0, .validation_split = 0.25, .shuffle = true});
  for (double loss : history["loss"]) EXPECT_NEAR(loss, 13.0, 1e-5);
  for (double loss : history["val_loss"]) EXPECT_NEAR(loss, 194 / 3.0, 1e-4);
}

TEST(FitTest, ValidationEpochsAreCountedFromOne) {
  Recorder recorder;
  const History history = still_line().fit(kX, kY,
                                           {.epochs = 5,
                                            .verbose = 0,
                                            .callbacks = {recorder},
                                            .validation_data = {kX, kY},
                                            .validation_epochs = {1, 4}});
  EXPECT_EQ(recorder.with("test_begin").size(), 2u);
  EXPECT_EQ(history["val_loss"].size(), 2u);
  std::vector<std::string> epochs;
  for (size_t i = 0; i < recorder.calls.size(); ++i)
    if (recorder.calls[i] == "test_end") epochs.push_back(recorder.calls.at(i + 1));
  EXPECT_THAT(epochs, ElementsAre("epoch_end 0", "epoch_end 3"));
}

TEST(FitTest, ValidationStepsStopEarly) {
  const History history = still_line().fit(
      kX, kY, {.batch_size = 4, .verbose = 0, .validation_data = {kX, kY}, .validation_steps = 2});
  EXPECT_DOUBLE_EQ(history["val_loss"][0], 17.5);
}

/// Batch hooks see chunks; the last one counts as whole.
TEST(FitTest, StepsPerExecutionMakesChunks) {
  const Sequential net = still_line(2);
  Recorder recorder;
  const History history = net.fit(kX, kY,
                                  {.batch_size = 2,
                                   .verbose = 0,
                                   .callbacks = {recorder},
                                   .validation_data = {kX, kY},
                                   .shuffle = false,
                                   .validation_batch_size = 4});
  EXPECT_EQ(history["loss"], std::vector<double>({28.5}));
  EXPECT_EQ(history["val_loss"], std::vector<double>({28.5}));
  EXPECT_EQ(history.params().steps, 5);
  EXPECT_THAT(recorder.calls,
              ElementsAre("train_begin", "epoch_begin 0", "batch_begin 0", "batch_end 1", "batch_begin 2",
                          "batch_end 3", "batch_begin 4", "batch_end 5", "test_begin", "test_batch_begin 0",
                          "test_batch_end 1", "test_batch_begin 2", "test_batch_end 3", "test_end",
                          "epoch_end 0", "train_end"));
  EXPECT_EQ(net.optimizer().iterations(), 5);
}

TEST(FitTest, ClassAndSampleWeights) {
  const FitConfig plain{.batch_size = 4, .verbose = 0, .shuffle = false};
  FitConfig with_classes = plain, with_samples = plain;
  with_classes.class_weight = {{0, 2.0}, {18, 0.5}};
  EXPECT_NEAR(still_line().fit(kX, kY, with_classes)["loss"][0], 24.45, 1e-5);
  with_samples.sample_weight = ops::cast(kX, DType::float32).with_shape({10});
  EXPECT_DOUBLE_EQ(still_line().fit(kX, kY, with_samples)["loss"][0], 202.5);
  with_samples.sample_weight = ops::cast(kX, DType::float32).with_shape({10, 1});
  EXPECT_DOUBLE_EQ(still_line().fit(kX, kY, with_samples)["loss"][0], 202.5);
  EXPECT_DOUBLE_EQ(
      still_line().evaluate(
          kX, kY, {.batch_size = 4, .verbose = 0, .sample_weight = with_samples.sample_weight})["loss"],
      202.5);
}

TEST(FitTest, OneHotLabelsTakeClassWeightsToo) {
  const Tensor y = Tensor::from(std::vector<float>{1, 0, 0, 1, 1, 0}, {3, 2}), x = Tensor::zeros({3, 2});
  const Sequential net({Input({2}), Dense(2, {.kernel_initializer = "zeros"})});
  net.compile({.optimizer = SGD(0.0), .loss = CategoricalCrossentropy({.from_logits = true})});
  const double loss = net.fit(x, y, {.verbose = 0, .class_weight = {{0, 3.0}, {1, 0.5}}})["loss"][0];
  EXPECT_NEAR(loss, std::log(2.0) * 6.5 / 3, 1e-6);
}

/// What is trained with is visible in the weights: descent along single rows shows their order.
std::vector<float> rows_in_order_of_training(bool shuffle, int epochs, uint64_t seed) {
  clear_session();
  set_random_seed(seed);
  std::vector<float> order;
  Sequential net({Input({1}), Dense(1, {.use_bias = false, .kernel_initializer = "zeros"})});
  net.compile({.optimizer = SGD(1.0),
               .loss = [](const Tensor&, const Tensor& y_pred) { return ops::sum(y_pred, {-1}) * -1.0; }});
  LambdaCallback watch({.on_train_batch_end = [&](int64_t, Logs&) {
    order.push_back(net.get_weights()[0].to_vector<float>()[0]);
  }});
  std::vector<float> powers;
  for (int i = 0; i < 8; ++i) powers.push_back(static_cast<float>(1 << i));
  const Tensor x = Tensor::from(powers, {8, 1});
  net.fit(x, x, {.batch_size = 1, .epochs = epochs, .verbose = 0, .callbacks = {watch}, .shuffle = shuffle});
  for (size_t i = order.size() - 1; i > 0; --i) order[i] -= order[i - 1];
  return order;
}

TEST(FitTest, ShuffleFalseKeepsTheOrder) {
  EXPECT_THAT(rows_in_order_of_training(false, 2, 1),
              ElementsAre(1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128));
}

TEST(FitTest, ShuffleVisitsEachRowOncePerEpochInAnOrderOfTheSeed) {
  const std::vector<float> order = rows_in_order_of_training(true, 2, 7);
  ASSERT_EQ(order.size(), 16u);
  std::vector<float> first(order.begin(), order.begin() + 8), second(order.begin() + 8, order.end());
  EXPECT_THAT(first, ::testing::UnorderedElementsAre(1, 2, 4, 8, 16, 32, 64, 128));
  EXPECT_THAT(second, ::testing::UnorderedElementsAre(1, 2, 4, 8, 16, 32, 64, 128));
  EXPECT_NE(first, second);
  EXPECT_EQ(rows_in_order_of_training(true, 2, 7), order);
  EXPECT_NE(rows_in_order_of_training(true, 2, 8), order);
}

TEST(FitTest, StopTrainingEndsAfterTheBatch) {
  const Sequential net = still_line();
  Recorder recorder;
  LambdaCallback stop(
      {.on_train_batch_end = [&](int64_t batch, Logs&) { net.set_stop_training(batch == 1); }});
  const History history =
      net.fit(kX, kY, {.batch_size = 2, .epochs = 3, .verbose = 0, .callbacks = {recorder, stop}});
  EXPECT_THAT(recorder.calls, ElementsAre("train_begin", "epoch_begin 0", "batch_begin 0", "batch_end 0",
                                          "batch_begin 1", "batch_end 1", "epoch_end 0", "train_end"));
  EXPECT_EQ(history["loss"].size(), 1u);
  EXPECT_EQ(net.fit(kX, kY, {.batch_size = 2, .verbose = 0})["loss"].size(), 1u);  // the wish does not last
}

TEST(FitTest, BatchLogsAreTheRunningValues) {
  std::vector<double> losses;
  LambdaCallback watch({.on_train_batch_end = [&](int64_t, Logs& logs) { losses.push_back(logs["loss"]); }});
  still_line().fit(kX, kY, {.batch_size = 5, .verbose = 0, .callbacks = {watch}, .shuffle = false});
  EXPECT_THAT(losses, ElementsAre(6.0, 28.5));
}

TEST(FitTest, CallbacksMayPredictAndEvaluate) {
  const Sequential net = still_line();
  double during = 0;
  LambdaCallback watch({.on_epoch_end = [&](int, Logs&) {
    during = net.predict(Tensor::full({1, 1}, 3), {.verbose = 0}).item();
    net.evaluate(kX, kY, {.verbose = 0});
  }});
  const History history = net.fit(kX, kY, {.epochs = 2, .verbose = 0, .callbacks = {watch}});
  EXPECT_EQ(during, 3.0);
  EXPECT_EQ(history["loss"], std::vector<double>({28.5, 28.5}));
}

TEST(FitTest, DatasetsBringTheirBatches) {
  const Dataset batches = Dataset::from_tensor_slices(kX, kY).batch(4);
  Recorder recorder;
  const Sequential net = still_line();
  const History history =
      net.fit(batches, {.epochs = 2, .verbose = 0, .callbacks = {recorder}, .validation_data = batches});
  EXPECT_EQ(history["loss"], std::vector<double>({28.5, 28.5}));
  EXPECT_EQ(history["val_loss"], std::vector<double>({28.5, 28.5}));
  EXPECT_EQ(recorder.with("batch_end").size(), 6u);
  EXPECT_DOUBLE_EQ(net.evaluate(batches, {.verbose = 0})["loss"], 28.5);
  EXPECT_EQ(net.predict(batches, {.verbose = 0}).to_vector<float>(), kX.to_vector<float>());
}

TEST(FitTest, ANewCompileIsANewOptimizer) {
  const Sequential net({Input({1}), Dense(1)});
  net.compile({.optimizer = Adam(), .loss = "mse"});
  net.fit(kX, kY, {.verbose = 0});
  EXPECT_EQ(net.optimizer().iterations(), 1);
  net.compile({.optimizer = Adam(), .loss = "mse"});
  EXPECT_EQ(net.optimizer().iterations(), 0);
}

TEST(FitTest, SeveralOutputsHaveTheirLossesAndMetrics) {
  clear_session();
  const Tensor x = Input({1}, {.name = "x"});
  const Tensor a = Dense(1, {.kernel_initializer = "ones", .name = "a"})(x),
               b = Dense(1, {.kernel_initializer = "zeros", .name = "b"})(x);
  const Model model({.inputs = {x}, .outputs = {a, b}});
  model.compile(
      {.optimizer = SGD(0.0), .loss = {"mse", "mae"}, .loss_weights = {1.0, 2.0}, .metrics = {"mae", "mse"}});
  const History history = model.fit(Tensors{kX}, Tensors{kY, kY}, {.verbose = 0});
  EXPECT_THAT(names_of(history), ElementsAre("a_loss", "a_mae", "b_loss", "b_mse", "loss"));
  EXPECT_NEAR(history["a_loss"][0], 28.5, 1e-5);
  EXPECT_NEAR(history["b_loss"][0], 9.0, 1e-5);
  EXPECT_NEAR(history["loss"][0], 46.5, 1e-5);
  EXPECT_NEAR(history["a_mae"][0], 4.5, 1e-5);
  EXPECT_NEAR(history["b_mse"][0], 4 * 28.5, 1e-4);
}

}  // namespace

}  // namespace nyala::fit_test
