// Losses that are functions and return a scalar, the mean of the rows that they saw. Numbers of Keras 3.15:
// Dense(1, kernel 0.1, bias 0), SGD(0.01), five rows in batches of three, not shuffled.
#include <cmath>

#include <gtest/gtest.h>

#include <nyala/api/initializers/all.h>
#include <nyala/api/layers/core/dense.h>
#include <nyala/api/losses/all.h>
#include <nyala/api/metrics/base/metric.h>
#include <nyala/api/model/model.h>
#include <nyala/api/optimizers/all.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/rounding.h>
#include <nyala/backend/ops/reduction/reduction.h>
#include <nyala/backend/runtime/device_registry.h>
#include <nyala/strategies/mirrored.h>

namespace nyala::scalar_loss_test {
namespace {

Tensor mean_square(const Tensor& y_true, const Tensor& y_pred) {
  return ops::mean(ops::square(y_true - y_pred));
}
Tensor sum_square(const Tensor& y_true, const Tensor& y_pred) {
  return ops::sum(ops::square(y_true - y_pred));
}
/// No mean over rows: 1 - 2 sum(t p) / sum(t + p) over the batch.
Tensor dice(const Tensor& y_true, const Tensor& y_pred) {
  return 1.0 - ops::sum(y_true * y_pred) * 2.0 / (ops::sum(y_true) + ops::sum(y_pred));
}

const Tensor kX = Tensor::from(std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, {5, 2});
const Tensor kY = Tensor::from(std::vector<float>{1, 0, 2, 1, 3}, {5, 1});
const Tensor kWeights = Tensor::from(std::vector<float>{1, 2, 0.5, 1, 3});

struct Trained {
  double loss, metric;
  std::vector<float> kernel;
  double bias;
};

Trained train(const Loss& loss, const Tensor& weights = {}, int epochs = 1, int64_t batch_size = 3) {
  Sequential model({Input({2}), Dense(1, {.kernel_initializer = Constant(0.1)})});
  model.compile({.optimizer = SGD(0.01), .loss = loss, .metrics = {Metric(mean_square, "square")}});
  const History history = model.fit(
      kX, kY,
      {.batch_size = batch_size, .epochs = epochs, .verbose = 0, .shuffle = false, .sample_weight = weights});
  return {history["loss"].back(), history["square"].back(), model.weights()[0].value().to_vector<float>(),
          model.weights()[1].value().to_vector<float>()[0]};
}

Trained train_on(int replicas, const Loss& loss, const Tensor& weights = {}, int epochs = 1,
                 int64_t batch_size = 3) {
  MirroredStrategyConfig config;
  for (int i = 0; i < replicas; ++i) config.devices.push_back("cpu:" + std::to_string(i));
  return MirroredStrategy(config).scope([&] { return train(loss, weights, epochs, batch_size); });
}

class ScalarLoss : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { configure_logical_devices("cpu", 4); }
};

TEST_F(ScalarLoss, IsTheMeanOfWhatItSaw) {
  const Trained one = train(Loss(mean_square), {}, 2);
  EXPECT_NEAR(one.loss, 0.5556507110595703, 1e-6);
  EXPECT_NEAR(one.kernel[0], 0.10389545559883118, 1e-6);
  EXPECT_NEAR(one.kernel[1], 0.10595154017210007, 1e-6);
  EXPECT_NEAR(one.bias, 0.002056111115962267, 1e-6);
  EXPECT_NEAR(one.metric, one.loss, 1e-6);  // by rows; Keras counts each batch once: 0.5634
  EXPECT_NEAR(train("mse", {}, 2).loss, one.loss, 1e-6);
}

TEST_F(ScalarLoss, WeighsByRowsOverReplicas) {
  for (const int replicas : {1, 2, 3, 4})  // batches of three rows and of two: some replicas have none
    for (const Tensor& weights : {Tensor(), kWeights}) {
      const Trained one = train(Loss(mean_square), weights, 2),
                    some = train_on(replicas, Loss(mean_square), weights, 2);
      EXPECT_NEAR(some.loss, one.loss, 1e-6) << replicas;
      EXPECT_NEAR(some.metric, one.metric, 1e-6) << replicas;
      EXPECT_NEAR(some.kernel[0], one.kernel[0], 1e-6) << replicas;
      EXPECT_NEAR(some.bias, one.bias, 1e-6) << replicas;
    }
}

TEST_F(ScalarLoss, SampleWeightsAreAFactorAsInKeras) {
  const Trained one = train(Loss(mean_square), kWeights, 2);
  EXPECT_NEAR(one.loss, 0.8981428146362305, 1e-6);
  EXPECT_NEAR(one.kernel[0], 0.10097724199295044, 1e-6);
  EXPECT_NEAR(one.bias, 0.0009650322608649731, 1e-6);
  const struct {
    const char* reduction;
    double loss, kernel, bias;
  } known[] = {{"sum", 3.974949359893799, -0.506306529045105, -0.07017331570386887},
               {"mean", 0.8873098492622375, 0.09633778780698776, -0.00019555538892745972},
               {"mean_with_sample_weight", 0.5895609259605408, 0.11790666729211807, 0.003773332806304097}};
  for (const auto& keras : known)
    for (const int replicas : {1, 2, 3}) {
      const Trained got = train_on(replicas, Loss(mean_square, {.reduction = keras.reduction}), kWeights);
      EXPECT_NEAR(got.loss, keras.loss, 2e-6) << keras.reduction << replicas;
      EXPECT_NEAR(got.kernel[0], keras.kernel, 2e-6) << keras.reduction << replicas;
      EXPECT_NEAR(got.bias, keras.bias, 2e-6) << keras.reduction << replicas;
    }
}

TEST_F(ScalarLoss, OneThatIsNoMeanOfRowsSeesTheWholeBatch) {
  for (const auto function : {dice, sum_square}) {
    const Loss whole(function, {.rows_are_independent = false});
    EXPECT_FALSE(whole.node().rows_are_independent());
    const Trained one = train(Loss(function));
    for (const int replicas : {1, 2, 3}) {
      const Trained some = train_on(replicas, whole);
      EXPECT_NEAR(some.loss, one.loss, 1e-5) << replicas;
      EXPECT_NEAR(some.kernel[0], one.kernel[0], 1e-5) << replicas;
      EXPECT_NEAR(some.bias, one.bias, 1e-5) << replicas;
    }
  }
}

TEST_F(ScalarLoss, ByItselfItStaysAsItIs) {
  const Tensor y_true{1.0f, 2.0f}, y_pred{2.0f, 4.0f}, weights{1.0f, 5.0f};
  EXPECT_NEAR(Loss(mean_square)(y_true, y_pred).item(), 2.5, 1e-6);
  EXPECT_NEAR(Loss(mean_square)(y_true, y_pred, weights).item(), 7.5, 1e-6);
  EXPECT_NEAR(Loss(mean_square, {.reduction = "sum"})(y_true, y_pred, weights).item(), 15.0, 1e-6);
  EXPECT_NEAR(Loss(mean_square, {.reduction = "mean_with_sample_weight"})(y_true, y_pred, weights).item(),
              2.5, 1e-6);
  EXPECT_THROW(Loss(mean_square, {.reduction = "avg"}), InvalidArgumentError);
}

TEST_F(ScalarLoss, RanksOfTargetAndPredictionAreMadeToFit) {
  const Tensor y_true{1.0f, 2.0f}, y_pred = Tensor::from(std::vector<float>{2, 4}, {2, 1});
  EXPECT_NEAR(Loss(mean_square)(y_true, y_pred).item(), 2.5, 1e-6);  // else each row meets all rows
}

}  // namespace
}  // namespace nyala::scalar_loss_test
