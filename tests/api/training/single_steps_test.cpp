// train_on_batch and its kin: loss and metrics of one batch alone, as in Keras 3.15.
#include <gtest/gtest.h>

#include <nyala/backend/core/error.h>
#include <nyala/tests/api/training/fit_support.h>

namespace nyala::single_steps_test {

namespace {

const Tensor kX = counting(10), kY = counting(10, 2.0);

TEST(SingleStepsTest, ReturnTheValuesOfTheirBatch) {
  const Sequential net = still_line();
  EXPECT_DOUBLE_EQ(net.train_on_batch(kX.rows(0, 4), kY.rows(0, 4))["loss"], 3.5);
  EXPECT_NEAR(net.train_on_batch(kX.rows(4, 6), kY.rows(4, 6))["loss"], 45.1666667, 1e-5);
  EXPECT_NEAR(net.test_on_batch(kX.rows(4, 6), kY.rows(4, 6))["loss"], 45.1666667, 1e-5);
  EXPECT_DOUBLE_EQ(net.test_on_batch(kX.rows(0, 4), kY.rows(0, 4))["loss"], 3.5);
  EXPECT_EQ(net.optimizer().iterations(), 2);
}

/// Logs are read late, but say what was true when they were made.
TEST(SingleStepsTest, LogsReadLateAreThoseOfTheirStep) {
  const Sequential net = still_line();
  const Logs first = net.train_on_batch(kX.rows(0, 4), kY.rows(0, 4));
  const Logs second = net.train_on_batch(kX.rows(4, 6), kY.rows(4, 6));
  EXPECT_NEAR(second["loss"], 45.1666667, 1e-5);
  EXPECT_DOUBLE_EQ(first["loss"], 3.5);
}

TEST(SingleStepsTest, LogsOutliveTheirModel) {
  Logs logs;
  {
    const Sequential net = still_line();
    logs = net.train_on_batch(kX.rows(0, 4), kY.rows(0, 4));
  }
  EXPECT_DOUBLE_EQ(logs["loss"], 3.5);
}

TEST(SingleStepsTest, TrainingChangesTheWeightsTestingDoesNot) {
  const Sequential net({Input({1}), Dense(1, {.use_bias = false, .kernel_initializer = "ones"})});
  net.compile({.optimizer = SGD(0.01), .loss = "mse"});
  net.test_on_batch(kX, kY);
  EXPECT_EQ(net.get_weights()[0].item(), 1.0);
  net.train_on_batch(kX, kY);
  EXPECT_NEAR(net.get_weights()[0].item(), 1.0 + 0.01 * 2 * 28.5, 1e-6);
}

TEST(SingleStepsTest, SampleWeights) {
  const Sequential net = still_line();
  const Logs logs = net.train_on_batch(kX, kY, kX.with_shape({10}));
  EXPECT_NEAR(logs["loss"], 202.5, 1e-4);
}

TEST(SingleStepsTest, PredictOnBatchAndPredictAgree) {
  const Sequential net = still_line();
  EXPECT_EQ(net.predict_on_batch(kX).to_vector<float>(), kX.to_vector<float>());
  EXPECT_EQ(net.predict(kX, {.batch_size = 3, .verbose = 0}).to_vector<float>(), kX.to_vector<float>());
  EXPECT_EQ(net.predict(kX, {.batch_size = 3, .verbose = 0, .steps = 2}).shape(), Shape({6, 1}));
}

TEST(SingleStepsTest, PredictTellsItsCallbacks) {
  Recorder recorder;
  still_line().predict(kX, {.batch_size = 4, .verbose = 0, .callbacks = {recorder}});
  EXPECT_EQ(recorder.calls,
            std::vector<std::string>({"predict_begin", "predict_batch_begin 0", "predict_batch_end 0",
                                      "predict_batch_begin 1", "predict_batch_end 1", "predict_batch_begin 2",
                                      "predict_batch_end 2", "predict_end"}));
}

TEST(SingleStepsTest, EvaluateReturnsNamedValues) {
  const Sequential net = still_line();
  net.compile({.optimizer = SGD(0.0), .loss = "mse", .metrics = {"mae"}});
  const Logs logs = net.evaluate(kX, kY, {.batch_size = 3, .verbose = 0});
  EXPECT_EQ(logs.size(), 2u);
  EXPECT_NEAR(logs["loss"], 28.5, 1e-5);
  EXPECT_NEAR(logs["mae"], 4.5, 1e-6);
  EXPECT_THROW(logs["mea"], NotFoundError);
}

}  // namespace

}  // namespace nyala::single_steps_test
