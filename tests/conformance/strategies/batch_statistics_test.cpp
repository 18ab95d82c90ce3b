// What BatchNormalization does with the rows of several replicas.
#include <cmath>

#include <gtest/gtest.h>

#include <nyala/api/layers/all.h>
#include <nyala/api/losses/all.h>
#include <nyala/api/optimizers/all.h>
#include <nyala/backend/runtime/device_registry.h>
#include <nyala/strategies/mirrored.h>
#include <nyala/strategies/one_device.h>
#include <nyala/tests/conformance/strategies/promise_case.h>

namespace nyala {

namespace {

class BatchStatisticsTest : public ::testing::Test {
 protected:
  void SetUp() override { configure_logical_devices("cpu", 7); }
  void TearDown() override { configure_logical_devices("cpu", 1); }
};

constexpr double kEpsilon = 1e-3;

struct Statistics {
  double loss = 0, mean = 0, variance = 0;
};

/// One step on the rows 0, 2, 10, 30 with the loss mean(normalized^2) and a rate of 0.
Statistics step_on_two_replicas(bool alone) {
  const MirroredStrategy strategy({.devices = {"cpu:0", "cpu:1"}});
  const Model model = strategy.scope([&] {
    const Sequential net(
        {Input({1}),
         BatchNormalization(
             {.momentum = 0.9, .center = false, .scale = false, .per_replica_statistics = alone}),
         Dense(1, {.use_bias = false, .kernel_initializer = "ones"})});
    net.compile({.optimizer = SGD({.learning_rate = 0.0}), .loss = "mse"});
    return net;
  });
  const Tensor x = Tensor::from(std::vector<float>{0, 2, 10, 30}, {4, 1});
  Statistics result;
  result.loss = model.train_on_batch(x, Tensor::zeros({4, 1}))["loss"];
  result.mean = model.non_trainable_weights().at(0).value().item();
  result.variance = model.non_trainable_weights().at(1).value().item();
  return result;
}

TEST_F(BatchStatisticsTest, AreThoseOfTheGlobalBatch) {
  const Statistics result = step_on_two_replicas(false);
  const double variance = (0 + 4 + 100 + 900) / 4.0 - 10.5 * 10.5;
  EXPECT_NEAR(result.loss, variance / (variance + kEpsilon), 1e-6);
  EXPECT_NEAR(result.mean, 0.1 * 10.5, 1e-6);
  EXPECT_NEAR(result.variance, 0.9 + 0.1 * variance, 1e-4);
}

TEST_F(BatchStatisticsTest, AreEachReplicasOwnWhereAskedFor) {
  const Statistics result = step_on_two_replicas(true);
  EXPECT_NEAR(result.loss, (1 / (1 + kEpsilon) + 100 / (100 + kEpsilon)) / 2, 1e-6);
  EXPECT_NEAR(result.mean, 0.1 * (1 + 20) / 2, 1e-6);
  EXPECT_NEAR(result.variance, 0.9 + 0.1 * (1 + 100) / 2, 1e-4);
}

/// A replica without rows has no statistics of its own; nothing may become NaN.
TEST_F(BatchStatisticsTest, OfReplicasWithoutRowsHarmNothing) {
  for (bool alone : {false, true}) {
    const MirroredStrategy strategy({.devices = {"cpu:0", "cpu:1", "cpu:2", "cpu:3"}});
    const Model model = strategy.scope([&] {
      const Sequential net({Input({2}), BatchNormalization({.per_replica_statistics = alone}), Dense(1)});
      net.compile({.optimizer = Adam(), .loss = "mse"});
      return net;
    });
    const Tensor x = random_numbers(1, {9, 2}, DType::float32);
    const History history = model.fit(x, Tensor::zeros({9, 1}), {.batch_size = 8, .epochs = 3, .verbose = 0});
    for (double loss : history["loss"]) EXPECT_TRUE(std::isfinite(loss));
    for (const Tensor& weight : model.get_weights())
      for (float value : weight.to_vector<float>()) EXPECT_TRUE(std::isfinite(value));
    for (float value : model.predict(x, {.verbose = 0}).to_vector<float>()) EXPECT_TRUE(std::isfinite(value));
  }
}

Tensor trained_with_bias(const Strategy& strategy, bool use_bias) {
  clear_session();
  set_random_seed(5);
  const Model model = strategy.scope([&] {
    const Sequential net({Input({6, 6, 2}), Conv2D(4, 3, {.use_bias = use_bias}),
                          BatchNormalization({.momentum = 0.0}), Activation("tanh"), GlobalAveragePooling2D(),
                          Dense(3)});
    net.compile({.optimizer = Adam({.learning_rate = 0.01}),
                 .loss = SparseCategoricalCrossentropy({.from_logits = true})});
    return net;
  });
  const Tensor x = random_numbers(3, {33, 6, 6, 2}, DType::float32), y = random_labels(2, 33, 3);
  model.fit(x, y, {.batch_size = 8, .epochs = 3, .verbose = 0, .shuffle = false});
  model.optimizer().set_learning_rate(0.0);  // now the moving statistics catch up with the last bias
  model.fit(x, y, {.batch_size = 8, .epochs = 1, .verbose = 0, .shuffle = false});
  return model.predict(x, {.verbose = 0});
}

/// The true gradient of a bias in front of BatchNormalization is zero; Adam turns its rounding into steps,
/// which differ between devices, but the normalisation takes them out again.
TEST_F(BatchStatisticsTest, ABiasInFrontChangesNoPrediction) {
  const std::vector<float> expected = trained_with_bias(OneDeviceStrategy("cpu:0"), true).to_vector<float>();
  EXPECT_EQ(expected.size(), 33u * 3u);
  for (int count : {2, 3, 4, 7}) {
    MirroredStrategyConfig config;
    for (int i = 0; i < count; ++i) config.devices.push_back("cpu:" + std::to_string(i));
    const std::vector<float> received = trained_with_bias(MirroredStrategy(config), true).to_vector<float>();
    ASSERT_EQ(received.size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i)
      EXPECT_NEAR(received[i], expected[i], 1e-5 + 1e-4 * std::abs(expected[i])) << count << " devices";
  }
}

}  // namespace

}  // namespace nyala
