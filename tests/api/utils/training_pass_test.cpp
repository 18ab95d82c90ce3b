#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/nyala.h>

namespace nyala {

namespace {

Tensor wave(const Shape& shape, double factor) {
  std::vector<double> values(static_cast<size_t>(shape.num_elements()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = std::sin(factor * static_cast<double>(i + 1));
  return Tensor::from(values, shape);
}

/// Layers with all that training mode has: statistics, random numbers, a regularizer and a loss of their own.
Sequential make_net() {
  clear_session();
  set_random_seed(5);
  return Sequential(
      {Input({3}, {.dtype = "float64"}), Dense(6, {.kernel_regularizer = L2(0.05), .dtype = "float64"}),
       BatchNormalization({.momentum = 0.8, .dtype = "float64"}), Dropout(0.4, {.dtype = "float64"}),
       Dense(2, {.activity_regularizer = L2(0.01), .dtype = "float64"})});
}

Strategy devices(int count) {
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) names.push_back("cpu:" + std::to_string(i));
  return MirroredStrategy({.devices = names, .shared_weights = SharedWeights::never});
}

TEST(TrainingPass, ALoopOfOnesOwnIsFit) {
  configure_logical_devices("cpu", 4);
  const Tensor x = wave({22, 3}, 0.7), y = wave({22, 2}, 1.1);
  const Dataset data = Dataset::from_tensor_slices(x, y).batch(8);
  const Sequential fitted = devices(1).scope(make_net);
  fitted.compile({.optimizer = SGD(0.1), .loss = "mse"});
  fitted.fit(x, y, {.batch_size = 8, .epochs = 2, .verbose = 0, .shuffle = false});
  for (int count : {1, 2, 3, 4}) {
    SCOPED_TRACE(count);
    const Strategy strategy = devices(count);
    const Sequential net = strategy.scope(make_net);
    const SGD sgd(0.1);
    int64_t step = 0;
    for (int epoch = 0; epoch < 2; ++epoch)
      for (const DistributedBatch& batch : strategy.distribute(data)) {
        strategy.run(
            [&](const Batch& part) {
              GradientTape tape;
              TrainingPass pass(batch, step);
              const Tensor error = pass(net, part.x[0]) - part.y[0];
              const Tensor loss =
                  ops::sum(error * error) / static_cast<double>(2 * batch.rows) + pass.losses(net);
              const Variables weights = net.trainable_variables();
              sgd.apply_gradients(tape.gradient(loss, weights), weights);
              pass.finish();
            },
            batch);
        ++step;
      }
    const Tensors received = net.get_weights(), expected = fitted.get_weights();
    for (size_t i = 0; i < expected.size(); ++i)
      EXPECT_THAT(received[i].to_vector<double>(),
                  ::testing::Pointwise(::testing::DoubleNear(1e-12), expected[i].to_vector<double>()))
          << net.weights()[i].path();
    for (const Variable& variable : net.weights())
      for (size_t copy = 1; copy < variable.num_copies(); ++copy)
        EXPECT_EQ(variable.value(copy).to_vector<double>(), variable.value(0).to_vector<double>());
  }
  configure_logical_devices("cpu", 1);
}

}  // namespace

}  // namespace nyala
