// Literals and new tensors lie where their replica works: what users write in losses, metrics, layers, steps
// and run() gives one device's numbers on every strategy.
#include <gtest/gtest.h>

#include <nyala/nyala.h>

namespace nyala::replica_literals_test {

using namespace nyala::detail;

namespace {

Tensor wave(const Shape& shape, double factor) {
  std::vector<float> values(static_cast<size_t>(shape.num_elements()));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(std::sin(factor * static_cast<double>(i + 1)));
  return Tensor::from(values, shape);
}

/// One value per row.
Tensor hinge(const Tensor& y_true, const Tensor& y_pred) {
  const Tensor rows = ops::ones({y_pred.shape()[0], 1});
  const Tensor slack = ops::maximum(0.0, 1.0 - y_true * y_pred) * rows;
  return ops::mean(ops::where(slack > 0.5, slack, 0.0) + ops::square(y_pred), -1);
}

Tensor weighed(const Tensor& y_true, const Tensor& y_pred) {
  return ops::mean(ops::abs(y_true - y_pred) * Tensor({0.5, 2}), -1);
}

/// A layer that makes tensors in its call and keeps one from before.
struct Shifted : LayerNode {
  const Tensor shift = Tensor({0.25, -0.5, 1});
  std::string class_name() const override { return "Shifted"; }
  Tensor call(Call&, const Tensor& x) const override {
    return ops::minimum(x + shift, Tensor::full({3}, 2.0)) + Tensor::zeros({x.shape()[0], 1});
  }
};

Model made(const Strategy& strategy) {
  clear_session();
  set_random_seed(5);
  return strategy.scope([] {
    const Sequential net({Input({3}), make_layer<Shifted>(),
                          Lambda([](const Tensor& x) { return ops::maximum(x, -0.5) * Tensor(2.0f); }),
                          Dense(2, {.activation = "tanh"})});
    net.compile({.optimizer = SGD(0.1), .loss = Loss(hinge), .metrics = {Metric(weighed)}});
    return Model(net);
  });
}

/// A step of its own with literals.
struct OwnStep : ModelNode {
  Dense last = track("last", Dense(2));
  Tensor call(Call& c, const Tensor& x) const override { return last(c, x); }
  void train_step(ReplicaStep& step, const Batch& batch) override {
    GradientTape tape;
    const Tensor y = step.forward(batch.x[0] + Tensor::full({3}, 0.5));
    const Tensor error = ops::maximum(batch.y[0] - y, ops::zeros({1}));
    const Tensor loss = ops::sum(ops::where(error > 0.1, ops::square(error), 0.0)) / 6.0;
    const Tensors gradients = tape.gradient(loss, step.trainable_variables());
    step.optimizer().apply_gradients(gradients, step.trainable_variables());
  }
};

class ReplicaLiterals : public ::testing::Test {
 protected:
  void SetUp() override {
    configure_logical_devices("cpu", 3);
    enable_ghost_device();
  }
  void TearDown() override { configure_logical_devices("cpu", 1); }

  static std::vector<Strategy> strategies() {
    return {MirroredStrategy({.devices = {"cpu:0", "cpu:1"}}),
            MirroredStrategy({.devices = {"cpu:0", "cpu:1", "cpu:2"}}), OneDeviceStrategy("cpu:1"),
            OneDeviceStrategy("ghost:0"), MirroredStrategy({.devices = {"ghost:0", "ghost:1"}})};
  }
  static void expect_same(const Model& a, const Model& b) {
    const Tensors left = a.get_weights(), right = b.get_weights();
    ASSERT_EQ(left.size(), right.size());
    for (size_t i = 0; i < left.size(); ++i) {
      const std::vector<float> l = left[i].to_vector<float>(), r = right[i].to_vector<float>();
      ASSERT_EQ(l.size(), r.size());
      for (size_t k = 0; k < l.size(); ++k) EXPECT_NEAR(l[k], r[k], 1e-6);
    }
  }
  const Tensor x = wave({6, 3}, 0.7), y = wave({6, 2}, 1.3);
};

TEST_F(ReplicaLiterals, InLossesMetricsLambdasAndLayers) {
  const Model alone = made(OneDeviceStrategy("cpu:0"));
  const History expected = alone.fit(x, y, {.batch_size = 6, .epochs = 3, .verbose = 0});
  for (const Strategy& strategy : strategies()) {
    SCOPED_TRACE(strategy.describe());
    const Model model = made(strategy);
    const History history = model.fit(x, y, {.batch_size = 6, .epochs = 3, .verbose = 0});
    expect_same(model, alone);
    for (const auto& [name, values] : expected.history())
      EXPECT_NEAR(history[name].back(), values.back(), 1e-5) << name;
    const Tensor mine = model.predict(x, {.verbose = 0}), theirs = alone.predict(x, {.verbose = 0});
    EXPECT_LT(ops::max(ops::abs(mine - theirs)).item(), 1e-5);
    EXPECT_NEAR(model.evaluate(x, y, {.verbose = 0})["loss"], alone.evaluate(x, y, {.verbose = 0})["loss"],
                1e-5);
  }
}

TEST_F(ReplicaLiterals, InTrainSteps) {
  const auto trained = [&](const Strategy& strategy) {
    clear_session();
    set_random_seed(5);
    const Model model = strategy.scope([] { return make_model<OwnStep>(); });
    model.compile({.optimizer = SGD(0.1), .loss = "mse"});
    model.fit(x, y, {.batch_size = 6, .epochs = 3, .verbose = 0});
    return model;
  };
  const Model alone = trained(OneDeviceStrategy("cpu:0"));
  for (const Strategy& strategy : strategies()) {
    SCOPED_TRACE(strategy.describe());
    expect_same(trained(strategy), alone);
  }
}

TEST_F(ReplicaLiterals, InRun) {
  const Tensor outside({1, 2});
  for (const Strategy& strategy : strategies()) {
    SCOPED_TRACE(strategy.describe());
    const PerReplica<> sums = strategy.run([&](ReplicaContext& replica) {
      EXPECT_EQ(Tensor({1, 2}).device(), replica.device);
      EXPECT_EQ(Tensor(1.0f).device(), replica.device);
      EXPECT_EQ(Tensor::from(std::vector<float>{1}).device(), replica.device);
      EXPECT_EQ(ops::arange(3).device(), replica.device);
      EXPECT_EQ(ops::eye(2).device(), replica.device);
      EXPECT_EQ(ops::random_normal({2}).device(), replica.device);
      const Tensor own = Tensor::full({2}, 3.0, DType::float32, replica.device);
      return ops::maximum(0.0, own) + ops::where(own > 2.0, own, 0.0) + outside + ops::ones({2}) +
             Tensor(1.0f);
    });
    for (int id = 0; id < strategy.num_replicas_in_sync(); ++id)
      EXPECT_EQ(sums[static_cast<size_t>(id)].to_vector<float>(), (std::vector<float>{9, 10}));
  }
}

TEST_F(ReplicaLiterals, KeepTheDtypesOfTheirNeighbours) {
  constexpr int64_t kOdd = 9'007'199'254'740'993;  // no double
  for (const Strategy& strategy : strategies()) {
    SCOPED_TRACE(strategy.describe());
    const PerReplica<> made = strategy.run([&](ReplicaContext& replica) {
      const Tensor l = Tensor::from(std::vector<int64_t>{kOdd, -kOdd});
      const Tensor d = Tensor::from(std::vector<double>{0.3, 0.9});
      const Tensor kept = ops::maximum(l, 0) + (ops::where(l > 0, 1, 0) - 1) * 2;
      EXPECT_EQ(kept.device(), replica.device);
      EXPECT_EQ(ops::minimum(d, 0.7).to_vector<double>(), (std::vector<double>{0.3, 0.7}));
      return kept;
    });
    for (int id = 0; id < strategy.num_replicas_in_sync(); ++id)
      EXPECT_EQ(made[static_cast<size_t>(id)].to_vector<int64_t>(), (std::vector<int64_t>{kOdd, -2}));
  }
}

TEST_F(ReplicaLiterals, UnderADeviceGuardAndWithoutOne) {
  {
    const auto on = device("cpu:1");
    EXPECT_EQ(Tensor({1, 2}).device(), Device("cpu:1"));
    EXPECT_EQ(ops::zeros({1}).device(), Device("cpu:1"));
  }
  const Tensor far = Tensor({1, 2}).to("cpu:2");
  EXPECT_EQ(ops::maximum(1.5, far).device(), Device("cpu:2"));
  EXPECT_EQ((Tensor(2.0f) * far).to_vector<float>(), (std::vector<float>{2, 4}));
  EXPECT_THROW(Tensor({1, 2}) + far, InvalidArgumentError);
}

TEST(GlobalGenerator, StartsAfreshWithTheSeedAndGoesOn) {
  set_random_seed(9);
  const uint64_t unseeded = next_unseeded_key();
  set_random_seed(9);
  const Tensor a = ops::random_normal({64}), b = ops::random_normal({64});
  EXPECT_EQ(next_unseeded_key(), unseeded);  // draws change no initializer's numbers
  set_random_seed(9);
  EXPECT_EQ(ops::random_normal({64}).to_vector<float>(), a.to_vector<float>());
  EXPECT_NE(a.to_vector<float>(), b.to_vector<float>());
  const Tensor u = ops::random_uniform({100}, 2.0, 3.0);
  EXPECT_GE(u.min().item(), 2.0);
  EXPECT_LT(u.max().item(), 3.0);
}

}  // namespace

}  // namespace nyala::replica_literals_test
