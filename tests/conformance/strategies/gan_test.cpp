// Two models and two optimizers in one step of a strategy: the maker learns from the critic as the critic's
// update, a moment before in the same step, has left it.
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/nyala.h>
#include <nyala/tests/support/error_text.h>
#include <nyala/tests/conformance/strategies/places.h>

namespace nyala::gan_test {

namespace {

Tensor wave(const Shape& shape, double factor) {
  std::vector<double> values(static_cast<size_t>(shape.num_elements()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = std::sin(factor * static_cast<double>(i + 1));
  return Tensor::from(values, shape);
}

Sequential network(int64_t inputs, int64_t outputs) {
  return Sequential({Input({inputs}, {.dtype = "float64"}),
                     Dense(5, {.activation = "tanh", .dtype = "float64"}),
                     Dense(outputs, {.dtype = "float64"})});
}

struct Gan {
  Sequential maker = network(2, 3), critic = network(3, 1);
  Optimizer maker_optimizer = Adam({.learning_rate = 0.05}),
            critic_optimizer = SGD({.learning_rate = 0.2, .momentum = 0.9});

  /// `real` and `noise` are a replica's rows of a batch of `rows`. Returns its parts of both losses.
  Tensors step(const Tensor& real, const Tensor& noise, int64_t rows) const {
    const double share = 1.0 / static_cast<double>(rows);
    const auto mean = [share](const Tensor& x) { return ops::sum(ops::softplus(x)) * share; };
    GradientTape critic_tape;
    const Tensor critic_loss = mean(-critic(real)) + mean(critic(maker(noise)));
    update(critic_tape, critic_loss, critic, critic_optimizer);
    GradientTape maker_tape;
    const Tensor maker_loss = mean(-critic(maker(noise)));
    update(maker_tape, maker_loss, maker, maker_optimizer);
    return {critic_loss.detached(), maker_loss.detached()};
  }

  static void update(GradientTape& tape, const Tensor& loss, const Model& model, const Optimizer& optimizer) {
    const Variables weights = model.trainable_variables();
    optimizer.apply_gradients(tape.gradient(loss, weights), weights);
  }
};

struct Outcome {
  std::vector<double> losses;
  Tensors weights;
};

Outcome trained(const Strategy& strategy) {
  clear_session();
  set_random_seed(3);
  const Gan gan = strategy.scope([] { return Gan(); });
  const Dataset data = Dataset::from_tensor_slices(wave({23, 3}, 0.7), wave({23, 2}, 1.9)).batch(6);
  Outcome out;
  for (int epoch = 0; epoch < 3; ++epoch)
    for (const DistributedBatch& batch : strategy.distribute(data)) {
      const std::vector<PerReplica<>> losses =
          strategy.run([&](const Batch& part) { return gan.step(part.x[0], part.y[0], batch.rows); }, batch);
      for (const PerReplica<>& parts : losses)
        out.losses.push_back(strategy.reduce(ReduceOp::sum, parts).item());
    }
  for (const Model& model : {Model(gan.maker), Model(gan.critic)})
    for (const Tensor& weight : model.get_weights()) out.weights.push_back(weight);
  return out;
}

TEST(GanCases, AnyStrategyGivesTheNumbersOfOneDevice) {
  const Outcome expected = trained(OneDeviceStrategy("cpu:0"));
  EXPECT_GT(std::abs(expected.losses.front() - expected.losses[expected.losses.size() - 2]), 1e-2);
  at_every_place([&](const Place&, const Strategy& strategy) {
    const Outcome received = trained(strategy);
    EXPECT_THAT(received.losses, ::testing::Pointwise(::testing::DoubleNear(1e-11), expected.losses));
    for (size_t i = 0; i < expected.weights.size(); ++i)
      EXPECT_THAT(
          received.weights[i].to_vector<double>(),
          ::testing::Pointwise(::testing::DoubleNear(1e-11), expected.weights[i].to_vector<double>()));
  });
}

/// Against plain tensors: the critic is one weight c, the maker one weight m, both losses linear.
TEST(GanCases, TheSecondUpdateSeesTheFirst) {
  at_every_place([](const Place& place, const Strategy& strategy) {
    const Variable c = strategy.scope([] { return Variable(2.0); }),
                   m = strategy.scope([] { return Variable(3.0); });
    const SGD first(0.5), second(0.5);
    strategy.run([&](Replica&) {
      const double share = 1.0 / place.replicas;
      GradientTape critic_tape;
      const Tensor critic_loss = c.value() * m.value() * share;
      first.apply_gradients(critic_tape.gradient(critic_loss, Variables{c}), {c});  // c = 2 - 0.5 * 3
      GradientTape maker_tape;
      const Tensor maker_loss = c.value() * m.value() * share;
      second.apply_gradients(maker_tape.gradient(maker_loss, Variables{m}), {m});  // m = 3 - 0.5 * c
    });
    EXPECT_NEAR(c.value().item(), 0.5, 1e-6);
    EXPECT_NEAR(m.value().item(), 2.75, 1e-6);  // 2 if the old critic had been seen
  });
}

TEST(GanCases, AReplicaThatSkipsAnUpdateIsAnError) {
  at_every_place([](const Place& place, const Strategy& strategy) {
    if (place.replicas == 1) return;
    const Variable v = strategy.scope([] { return Variable(2.0); });
    const SGD sgd(0.5);
    const auto step = [&](bool skips) {
      strategy.run([&](Replica& replica) {
        if (skips && replica.id == 1) return;
        GradientTape tape;
        const Tensor loss = v.value() * (1.0 / place.replicas);
        sgd.apply_gradients(tape.gradient(loss, Variables{v}), {v});
      });
    };
    EXPECT_THROW(step(true), CommunicationError);
    EXPECT_EQ(v.value().item(), 2.0);
    step(false);  // the strategy goes on
    EXPECT_NEAR(v.value().item(), 1.5, 1e-6);
  });
}

}  // namespace

}  // namespace nyala::gan_test
