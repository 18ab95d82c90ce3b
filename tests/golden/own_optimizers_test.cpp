// What Keras saved of a model with two optimizers of its own, against the same class here; and a model of
// Keras 2 whose hard_sigmoid is another function than today's.
#include <cmath>

#include <gtest/gtest.h>

#include <nyala/nyala.h>
#include <nyala/tests/golden/golden_data.h>

namespace nyala::golden::own_optimizers_test {
namespace {

Tensor waves(const Shape& shape, double factor) {
  std::vector<float> values;
  for (int64_t i = 1; i <= shape.num_elements(); ++i)
    values.push_back(static_cast<float>(std::sin(factor * static_cast<double>(i))));
  return Tensor::from(values, shape);
}

Model network(int64_t inputs, int64_t outputs) {
  return Sequential({Input({inputs}), Dense(4, {.activation = "tanh"}), Dense(outputs)});
}

struct Duel : ModelNode {
  Model maker = track("maker", network(2, 3)), critic = track("critic", network(3, 1));
  Optimizer maker_optimizer = track_optimizer("maker_optimizer", Adam(0.02));
  Optimizer critic_optimizer =
      track_optimizer("critic_optimizer", SGD({.learning_rate = 0.1, .momentum = 0.9}));

  Duel() {
    maker_optimizer.build(maker.trainable_variables());
    critic_optimizer.build(critic.trainable_variables());
  }
  std::string class_name() const override { return "Duel"; }
  Tensor call(Call& c, const Tensor& x) const override { return critic(c, maker(c, x)); }

  void train_step(ReplicaStep& step, const Batch& batch) override {
    const Tensor &noise = batch.x[0], &real = batch.y[0];
    const double share = 1.0 / static_cast<double>(step.global_rows());
    {
      GradientTape tape;
      const Tensor loss = (ops::softplus(-critic(real)) + ops::softplus(critic(maker(noise)))).sum() * share;
      const Variables weights = critic.trainable_variables();
      critic_optimizer.apply_gradients(tape.gradient(loss, weights), weights);
    }
    GradientTape tape;
    const Tensor loss = ops::softplus(-critic(maker(noise))).sum() * share;
    const Variables weights = maker.trainable_variables();
    maker_optimizer.apply_gradients(tape.gradient(loss, weights), weights);
  }
};

void expect_values(const Model& model, const Json& expected) {
  const Duel& duel = dynamic_cast<const Duel&>(model.node());
  EXPECT_EQ(duel.maker_optimizer.iterations(), expected["iterations"][0].get<int64_t>());
  EXPECT_EQ(duel.critic_optimizer.iterations(), expected["iterations"][1].get<int64_t>());
  const Variables weights = model.weights();
  ASSERT_EQ(weights.size(), expected["weights"].size());
  for (size_t i = 0; i < weights.size(); ++i)
    expect_close(weights[i].value(), expected["weights"][i], weights[i].path(), {1e-5, 1e-4});
}

class OwnOptimizers : public testing::TestWithParam<int> {};

TEST_P(OwnOptimizers, TrainingGoesOnFromKerasFile) {
  configure_logical_devices("cpu", 2);
  MirroredStrategyConfig config;
  for (int i = 0; i < GetParam(); ++i) config.devices.push_back("cpu:" + std::to_string(i));
  const Json golden = load("own_optimizers.json");
  const Model model = MirroredStrategy(config).scope([] {
    return load_model((directory() / "own_optimizers.keras").string(),
                      {.custom_objects = {{"Duel", custom_object<Duel>()}}});
  });
  expect_values(model, golden["before"]);
  model.fit(waves({23, 2}, 1.9), waves({23, 3}, 0.7),
            {.batch_size = 5, .epochs = 2, .verbose = 0, .shuffle = false});
  expect_values(model, golden["after"]);
  configure_logical_devices("cpu", 1);
}

INSTANTIATE_TEST_SUITE_P(Replicas, OwnOptimizers, testing::Values(1, 2), testing::PrintToStringParamName());

TEST(LegacyHardSigmoid, ComputesWhatKeras2DidAndIsNamedInTodaysFiles) {
  const Json golden = load("legacy_hard_sigmoid.json");
  const Model old = load_model((directory() / "legacy_hard_sigmoid.h5").string());
  const auto expect_predicts = [&](const Model& model) {
    expect_close(model.predict(tensors(golden["x"])[0], {.verbose = 0}), golden["prediction"][0],
                 "prediction", {1e-6, 1e-6});
  };
  expect_predicts(old);
  EXPECT_NE(old.to_json().find("\"config\":\"legacy_hard_sigmoid\""), std::string::npos) << old.to_json();
  const std::string written = testing::TempDir() + "legacy_hard_sigmoid.keras";
  old.save(written);
  expect_predicts(load_model(written));
}

}  // namespace
}  // namespace nyala::golden::own_optimizers_test
