// Strategy::adopt: a model changes its strategy and goes on as if it had been made there.
#include <gtest/gtest.h>

#include <nyala/nyala.h>
#include <nyala/tests/conformance/strategies/places.h>

namespace nyala::adopt_test {
namespace {

using Floats = std::vector<float>;

Tensor noise(uint64_t key, const Shape& shape) { return ops::random_normal(shape, 0.0, 1.0, {.key = key}); }

Sequential make_model() {
  Sequential model({Input({6}), Dense(8, {.activation = "relu"}), BatchNormalization(), Dense(3)});
  model.compile({.optimizer = Adam(0.01), .loss = "mse", .metrics = {"mae"}});
  return model;
}

std::vector<Floats> weights_of(const Model& model) {
  std::vector<Floats> values;
  for (const Tensor& value : model.get_weights()) values.push_back(value.to_vector<float>());
  return values;
}

void expect_near(const std::vector<Floats>& received, const std::vector<Floats>& expected) {
  ASSERT_EQ(received.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i)
    for (size_t k = 0; k < expected[i].size(); ++k) EXPECT_NEAR(received[i][k], expected[i][k], 2e-5);
}

void train(const Model& model, int epochs) {
  model.fit(noise(1, {22, 6}), noise(2, {22, 3}),
            {.batch_size = 8, .epochs = epochs, .verbose = 0, .shuffle = false});
}

std::vector<Floats> trained_without_moving() {
  set_random_seed(1);
  const Sequential model = make_model();
  train(model, 2);
  train(model, 2);
  return weights_of(model);
}

TEST(Adopt, ATrainedModelGoesOnUnderAStrategy) {
  clear_session();
  const auto expected = trained_without_moving();
  at_every_place([&](const Place& place, const Strategy& strategy) {
    set_random_seed(1);
    const Sequential model = make_model();
    train(model, 2);
    const Variables handles = model.weights();
    const auto before = weights_of(model);
    EXPECT_EQ(strategy.adopt(model).weights(), handles);
    EXPECT_EQ(weights_of(model), before);
    for (const Variable& variable : handles)
      EXPECT_EQ(variable.num_copies(), static_cast<size_t>(place.replicas));
    train(model, 2);
    expect_near(weights_of(model), expected);
    for (const Variable& variable : handles)
      for (size_t copy = 1; copy < variable.num_copies(); ++copy)
        EXPECT_EQ(variable.value(copy).to_vector<float>(), variable.value(0).to_vector<float>());
  });
}

TEST(Adopt, StatefulLayersKeepTheirState) {
  const auto made = [] {
    set_random_seed(1);
    Sequential model({Input({3, 2}, {.batch_size = 7}), LSTM(4, {.stateful = true}), Dense(2)});
    model.compile({.optimizer = SGD(0.1), .loss = "mse"});
    return model;
  };
  const auto train_stateful = [](const Model& model) {
    model.fit(noise(1, {21, 3, 2}), noise(2, {21, 2}),
              {.batch_size = 7, .epochs = 2, .verbose = 0, .shuffle = false});
  };
  clear_session();
  const Sequential alone = made();
  train_stateful(alone);
  train_stateful(alone);
  at_every_place([&](const Place&, const Strategy& strategy) {
    const Sequential model = made();
    train_stateful(model);
    strategy.adopt(model);
    train_stateful(model);
    expect_near(weights_of(model), weights_of(alone));
  });
}

TEST(Adopt, BackIntoAStrategyThatTrainedItBefore) {
  clear_session();
  const auto expected = trained_without_moving();
  at_every_place([&](const Place&, const Strategy& strategy) {
    // The second time recycled memory is where the first model's was.
    for (int round = 0; round < 2; ++round) {
      set_random_seed(1);
      const Sequential model = strategy.scope([] { return make_model(); });
      train(model, 1);
      get_strategy().adopt(model);
      train(model, 1);
      strategy.adopt(model);
      train(model, 2);
      expect_near(weights_of(model), expected);
    }
  });
}

TEST(Adopt, BackAndToAnotherStrategy) {
  clear_session();
  const auto expected = trained_without_moving();
  at_every_place([&](const Place&, const Strategy& strategy) {
    set_random_seed(1);
    const Sequential model = strategy.scope([] { return make_model(); });
    train(model, 2);
    const MirroredStrategy two({.devices = {"cpu:0", "cpu:1"}, .shared_weights = SharedWeights::never});
    two.adopt(model);
    two.adopt(model);  // is there already
    train(model, 1);
    get_strategy().adopt(model);
    EXPECT_EQ(model.weights()[0].num_copies(), 1u);
    train(model, 1);
    expect_near(weights_of(model), expected);
  });
}

TEST(Adopt, BeforeBuildAndBeforeCompile) {
  configure_logical_devices("cpu", 2);
  const MirroredStrategy strategy({.devices = {"cpu:0", "cpu:1"}});
  const Sequential unbuilt({Dense(2)});
  strategy.adopt(unbuilt);
  EXPECT_EQ(unbuilt.predict(noise(1, {5, 3}), {.verbose = 0}).shape(), Shape({5, 2}));
  EXPECT_EQ(unbuilt.weights()[0].num_copies(), 2u);
  const Sequential uncompiled({Input({3}), Dense(2)});
  strategy.adopt(uncompiled);
  uncompiled.compile({.optimizer = "sgd", .loss = "mse"});
  uncompiled.fit(noise(1, {5, 3}), noise(2, {5, 2}), {.verbose = 0});
  configure_logical_devices("cpu", 1);
}

TEST(Adopt, ModelsInsideComeAlong) {
  configure_logical_devices("cpu", 2);
  const Sequential inner({Input({3}), Dense(4)});
  const Sequential outer({Input({3}), inner, Dense(2)});
  const MirroredStrategy strategy({.devices = {"cpu:0", "cpu:1"}});
  strategy.adopt(outer);
  const Tensor x = noise(1, {5, 3});
  EXPECT_EQ(inner.predict(x, {.verbose = 0}).shape(), Shape({5, 4}));
  for (const Variable& variable : outer.weights()) EXPECT_EQ(variable.num_copies(), 2u);
  configure_logical_devices("cpu", 1);
}

TEST(Adopt, IsRefusedInsideAReplica) {
  configure_logical_devices("cpu", 2);
  const MirroredStrategy strategy({.devices = {"cpu:0", "cpu:1"}});
  const Sequential model({Input({3}), Dense(4)});
  EXPECT_THROW(strategy.run([&] { strategy.adopt(model); }), StateError);
  EXPECT_EQ(model.weights()[0].num_copies(), 1u);
  configure_logical_devices("cpu", 1);
}

}  // namespace
}  // namespace nyala::adopt_test
