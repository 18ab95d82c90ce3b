// Layers that draw out of training, too.
#include <cmath>

#include <gtest/gtest.h>

#include <nyala/nyala.h>

namespace nyala {

namespace {

struct Jitter : SeededNode {
  explicit Jitter(int64_t seed = 5) : SeededNode(seed, "jitter") {}
  std::string class_name() const override { return "Jitter"; }
  Tensor call(Call& c, const Tensor& x) const override { return x + noise(c, x, 0.0, 1.0); }
};

class RandomPasses : public ::testing::Test {
 protected:
  void SetUp() override { configure_logical_devices("cpu", 3); }
  void TearDown() override { configure_logical_devices("cpu", 1); }

  static Model made(int replicas) {
    MirroredStrategyConfig config;
    for (int i = 0; i < replicas; ++i) config.devices.push_back("cpu:" + std::to_string(i));
    return MirroredStrategy(config).scope([] {
      const Sequential model({Input({4}), make_layer<Jitter>()});
      model.compile({.optimizer = "sgd", .loss = "mse"});
      return model;
    });
  }
  static std::vector<float> predicted(const Model& model) {
    return model.predict(Tensor::zeros({7, 4}), {.batch_size = 3, .verbose = 0}).to_vector<float>();
  }
  static double loss(const Model& model) {
    return model.evaluate(Tensor::zeros({7, 4}), Tensor::zeros({7, 4}),
                          {.batch_size = 3, .verbose = 0})["loss"];
  }
};

TEST_F(RandomPasses, EveryBatchAndEveryPredictDrawsAnew) {
  const Model model = made(1);
  const std::vector<float> first = predicted(model), second = predicted(model);
  for (size_t i = 0; i < first.size(); ++i) {
    EXPECT_NE(first[i], second[i]) << i;
    if (i >= 12) {
      EXPECT_NE(first[i], first[i - 12]) << i;
    }
  }
  EXPECT_NE(loss(model), loss(model));
  const Tensor x = Tensor::zeros({2, 4});
  EXPECT_NE(model(x).to_vector<float>(), model(x).to_vector<float>());
  const Layer layer = make_layer<Jitter>();
  EXPECT_NE(layer(x).to_vector<float>(), layer(x).to_vector<float>());
}

TEST_F(RandomPasses, TheSameCallsOfAnotherModelWithTheSeedDrawTheSameOnAnyNumberOfReplicas) {
  const Model alone = made(1);
  const std::vector<float> first = predicted(alone), second = predicted(alone);
  const double evaluated = loss(alone);
  for (const int replicas : {1, 2, 3}) {
    const Model model = made(replicas);
    EXPECT_EQ(predicted(model), first) << replicas;
    EXPECT_EQ(predicted(model), second) << replicas;
    EXPECT_NEAR(loss(model), evaluated, 1e-6) << replicas;
  }
}

/// What is predicted between steps changes nothing in training.
TEST_F(RandomPasses, TrainingDrawsByItsSteps) {
  const auto trained = [](bool predicts) {
    set_random_seed(2);
    const Sequential model({Input({4}), Dropout(0.5), make_layer<Jitter>(), Dense(1)});
    model.compile({.optimizer = "sgd", .loss = "mse"});
    std::vector<double> losses;
    for (int step = 0; step < 3; ++step) {
      losses.push_back(
          model.train_on_batch(Tensor::full({6, 4}, 1.0, DType::float32), Tensor::zeros({6, 1}))["loss"]);
      if (predicts) predicted(model);
    }
    return losses;
  };
  EXPECT_EQ(trained(true), trained(false));
}

/// Rows of a batch that each replica gives to a layer by itself.
std::vector<float> called_in_run(int replicas, int calls) {
  MirroredStrategyConfig config;
  for (int i = 0; i < replicas; ++i) config.devices.push_back("cpu:" + std::to_string(i));
  const Strategy strategy = MirroredStrategy(config);
  const Layer layer = strategy.scope([] { return make_layer<Jitter>(); });
  const Dataset data = Dataset::from_tensor_slices(Tensor::zeros({7, 4})).batch(7);
  std::vector<float> all;
  for (int call = 0; call < calls; ++call)
    for (const DistributedBatch& batch : strategy.distribute(data)) {
      const PerReplica<Tensor> parts =
          strategy.run([&](const Batch& part) { return layer(part.x[0]); }, batch);
      for (int replica = 0; replica < replicas; ++replica)
        for (const float value : parts[static_cast<size_t>(replica)].to_vector<float>()) all.push_back(value);
    }
  return all;
}

TEST_F(RandomPasses, ALayerCalledByItselfInRunDrawsAnewAndForTheGlobalRows) {
  const std::vector<float> alone = called_in_run(1, 2);
  for (size_t i = 0; i < 28; ++i) EXPECT_NE(alone[i], alone[i + 28]) << i;
  for (const int replicas : {2, 3}) EXPECT_EQ(called_in_run(replicas, 2), alone) << replicas;
}

TEST_F(RandomPasses, DrawingInRunIsForAllReplicas) {
  const Strategy strategy = MirroredStrategy({.devices = {"cpu:0", "cpu:1"}});
  const Layer layer = make_layer<Jitter>();
  EXPECT_THROW(strategy.run([&](Replica& replica) {
    if (replica.id == 0) layer(Tensor::zeros({2, 4}));
  }),
               CommunicationError);
}

}  // namespace

}  // namespace nyala
