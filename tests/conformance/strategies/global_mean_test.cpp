// A layer that looks at the rows of the whole batch.
#include <nyala/tests/conformance/strategies/training_support.h>

namespace nyala::global_mean_test {

namespace {

/// Columns with mean 0 and variance 1 over the batch.
struct Standardized : LayerNode {
  std::string class_name() const override { return "Standardized"; }
  Tensor call(Call& c, const Tensor& x) const override {
    const Tensor centered = x - c.global_mean(x, 0);
    return centered * ops::rsqrt(c.global_mean(ops::square(centered), 0) + 0.1);
  }
};

/// The same on one device, and other numbers on several.
struct StandardizedByOwnRows : LayerNode {
  std::string class_name() const override { return "StandardizedByOwnRows"; }
  Tensor call(Call&, const Tensor& x) const override {
    const Tensor centered = x - x.mean(0);
    return centered * ops::rsqrt(ops::square(centered).mean(0) + 0.1);
  }
};

struct Trained {
  Tensors weights;
  double loss = 0;
};

/// Batches of 5 and 3 rows: of four replicas one gets two rows, or one gets none.
template <class Node>
Trained trained(const Strategy& strategy) {
  clear_session();
  set_random_seed(3);
  const Model model =
      strategy.scope([] { return Sequential({Input({3}), Dense(4), make_layer<Node>(), Dense(1)}); });
  const Tensor x = wave({13, 3}, 0.7), y = wave({13, 1}, 0.3);
  model.compile({.optimizer = SGD(0.1), .loss = "mse"});
  model.fit(x, y, {.batch_size = 5, .epochs = 3, .verbose = 0, .shuffle = false});
  return {model.get_weights(), model.evaluate(x, y, {.batch_size = 5, .verbose = 0})["loss"]};
}

TEST(GlobalMean, GivesOneDevicesNumbersWithAnySplit) {
  const Trained expected = trained<StandardizedByOwnRows>(OneDeviceStrategy("cpu:0"));
  at_every_place([&](const Place&, const Strategy& strategy) {
    const Trained received = trained<Standardized>(strategy);
    EXPECT_NEAR(received.loss, expected.loss, 1e-5);
    for (size_t i = 0; i < expected.weights.size(); ++i)
      expect_numbers(received.weights[i], numbers(expected.weights[i]), 2e-5f);
  });
}

/// What it is there against.
TEST(GlobalMean, AMeanOfItsOwnRowsDependsOnTheReplicas) {
  configure_logical_devices("cpu", 2);
  const Trained one = trained<StandardizedByOwnRows>(OneDeviceStrategy("cpu:0"));
  const Trained two = trained<StandardizedByOwnRows>(MirroredStrategy({.devices = {"cpu:0", "cpu:1"}}));
  EXPECT_GT(std::abs(one.loss - two.loss), 1e-3);
  configure_logical_devices("cpu", 1);
}

/// Sums and means by hand, of a call without a model: one replica, no meeting.
TEST(GlobalMean, AloneIsTheMean) {
  Call c;
  const Tensor x{{1, 2}, {3, 6}};
  expect_numbers(c.global_mean(x, 0), {2, 4});
  expect_numbers(c.global_mean(x, 1), {1.5, 4.5});
  expect_numbers(c.global_mean(x), {3});
  expect_numbers(c.global_sum(x, 0), {4, 8});
}

/// Rows 1, 2, 4 of two columns, which replicas share as they do.
TEST(GlobalMean, ByHand) {
  const Tensor x{{1, 1}, {2, 2}, {4, 10}};
  at_every_place([&](const Place&, const Strategy& strategy) {
    strategy.run(
        [&](Replica& replica, const Batch& part) {
          Call c(CallOptions{.replica = replica.context});
          const Tensor mine = part.x[0];
          expect_numbers(c.global_mean(mine, 0), {7 / 3.0f, 13 / 3.0f});
          expect_numbers(c.global_mean(mine), {20 / 6.0f});
          expect_numbers(c.global_mean(ops::cast(mine, DType::int32)), {20 / 6.0f});
          expect_numbers(c.global_sum(mine, {0, 1}), {20});
          EXPECT_EQ(c.global_mean(mine, 0, true).shape(), (Shape{1, 2}));
          EXPECT_EQ(c.global_mean(mine, 1).shape(), Shape{mine.shape()[0]});  // of its own rows
        },
        strategy.distribute(Batch{.x = {x}}));
  });
}

}  // namespace

}  // namespace nyala::global_mean_test
