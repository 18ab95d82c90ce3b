// Metrics that are functions and return a scalar: on any number of replicas, with rows that replicas do not
// share evenly and with sample weights. Numbers of one device are by hand (Keras 3.15 refuses weights of a
// scalar).
#include <cmath>

#include <gtest/gtest.h>

#include <nyala/api/initializers/all.h>
#include <nyala/api/layers/core/dense.h>
#include <nyala/api/losses/all.h>
#include <nyala/api/metrics/base/metric.h>
#include <nyala/api/model/model.h>
#include <nyala/api/optimizers/all.h>
#include <nyala/api/saving/load_model.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/rounding.h>
#include <nyala/backend/ops/reduction/reduction.h>
#include <nyala/backend/runtime/device_registry.h>
#include <nyala/strategies/mirrored.h>
#include <nyala/tests/support/scratch_folder.h>
#include <nyala/tests/support/mirrored.h>

namespace nyala {
namespace {

Tensor mean_error(const Tensor& y_true, const Tensor& y_pred) { return ops::mean(ops::abs(y_true - y_pred)); }
Tensor largest_error(const Tensor& y_true, const Tensor& y_pred) {
  return ops::max(ops::abs(y_true - y_pred));
}
/// Of each row the distance from the mean of all.
Tensor spread(const Tensor& y_true, const Tensor& y_pred) {
  return ops::sum(ops::abs(y_pred - ops::mean(y_pred) + y_true * 0.0), -1);
}

// With kernel 1 and bias 0 the prediction is x: errors 1, 2, 3, 4, 5 | 6, 7.
const Tensor kX = Tensor::from(std::vector<float>{1, 2, 3, 4, 5, 6, 7}, {7, 1});
const Tensor kY = Tensor::zeros({7, 1});
const Tensor kWeights = Tensor::from(std::vector<float>{1, 2, 0.5, 1, 3, 0, 4});
constexpr double kWeightsOfFirst = 7.5, kWeightsOfSecond = 4;

double evaluated(const Metric& metric, int replicas, const Tensor& weights = {}) {
  return mirrored(replicas).scope([&] {
    Sequential model({Input({1}), Dense(1, {.kernel_initializer = "ones"})});
    if (weights.defined())
      model.compile({.optimizer = SGD(0.0), .loss = "mse", .weighted_metrics = {metric}});
    else
      model.compile({.optimizer = SGD(0.0), .loss = "mse", .metrics = {metric}});
    return model.evaluate(kX, kY, {.batch_size = 5, .verbose = 0, .sample_weight = weights})[metric.name()];
  });
}

class FunctionMetric : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { configure_logical_devices("cpu", 4); }
};

TEST_F(FunctionMetric, AMeanCountsByRows) {
  const Metric metric(mean_error, "error");
  for (const int replicas : {1, 2, 3, 4}) EXPECT_NEAR(evaluated(metric, replicas), 4.0, 1e-6) << replicas;
}

TEST_F(FunctionMetric, AMeanCountsByTheWeightsOfTheWholeBatch) {
  const Metric metric(mean_error, "error");
  const double wanted =
      (3.0 * kWeightsOfFirst + 6.5 * kWeightsOfSecond) / (kWeightsOfFirst + kWeightsOfSecond);
  for (const int replicas : {1, 2, 3, 4})
    EXPECT_NEAR(evaluated(metric, replicas, kWeights), wanted, 1e-6) << replicas;
}

TEST_F(FunctionMetric, OneThatIsNoMeanOfRowsSeesTheWholeBatch) {
  const Metric metric(largest_error, {.name = "largest", .rows_are_independent = false});
  EXPECT_EQ(metric.name(), "largest");
  for (const int replicas : {1, 2, 3, 4}) {
    EXPECT_NEAR(evaluated(metric, replicas), (5.0 + 7.0) / 2, 1e-6)
        << replicas;  // batches alike, as in Keras
    EXPECT_NEAR(evaluated(metric, replicas, kWeights),
                (5.0 * kWeightsOfFirst + 7.0 * kWeightsOfSecond) / (kWeightsOfFirst + kWeightsOfSecond), 1e-6)
        << replicas;
  }
  EXPECT_GT(std::abs(evaluated(Metric(largest_error, "largest"), 2) - 6.0), 0.1) << "what the option is for";
}

TEST_F(FunctionMetric, ValuesOfRowsThatDependOnOthersSeeTheWholeBatchToo) {
  const Metric metric(spread, {.name = "spread", .rows_are_independent = false});
  const double wanted = (2 + 1 + 0 + 1 + 2 + 0.5 + 0.5) / 7;
  for (const int replicas : {1, 2, 3}) EXPECT_NEAR(evaluated(metric, replicas), wanted, 1e-6) << replicas;
}

TEST_F(FunctionMetric, InALoopOfOnesOwnReplicasGiveTheNumbersOfOne) {
  for (const bool independent : {true, false}) {
    const Metric metric(independent ? mean_error : largest_error, {.rows_are_independent = independent});
    const MirroredStrategy strategy({.devices = {"cpu:0", "cpu:1"}});
    const Dataset batches = Dataset::from_tensor_slices(kX.with_shape({7}), kWeights).batch(5);
    for (const auto& batch : strategy.distribute(batches))
      strategy.run(
          [&](const Batch& own) { metric.update_state(ops::zeros_like(own.x[0]), own.x[0], own.y.at(0)); },
          batch);
    const double first = independent ? 3.0 : 5.0, second = independent ? 6.5 : 7.0;
    EXPECT_NEAR(metric.result(),
                (first * kWeightsOfFirst + second * kWeightsOfSecond) / (kWeightsOfFirst + kWeightsOfSecond),
                1e-6);
  }
}

TEST_F(FunctionMetric, FilesKeepThatTheRowsDepend) {
  register_serializable("function_metric_test", "largest_error", largest_error);
  const ScratchFolder folder("function_metric");
  Sequential model({Input({1}), Dense(1, {.kernel_initializer = "ones"})});
  model.compile({.optimizer = SGD(0.0),
                 .loss = "mse",
                 .metrics = {Metric(largest_error, {.rows_are_independent = false})}});
  model.save(folder.file("m.keras"));
  const MirroredStrategy strategy({.devices = {"cpu:0", "cpu:1"}});
  const auto scope = strategy.scope();
  EXPECT_NEAR(
      load_model(folder.file("m.keras")).evaluate(kX, kY, {.batch_size = 5, .verbose = 0})["largest_error"],
      6.0, 1e-6);
}

}  // namespace
}  // namespace nyala
