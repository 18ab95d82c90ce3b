// After an error in one replica the model goes on with the numbers of one device that had the same error.
#include <atomic>
#include <chrono>
#include <thread>

#include <nyala/tests/conformance/strategies/training_support.h>

namespace nyala::errors_test {
namespace {

/// Throws in training on one replica, once it is told to, when the others have finished their part.
struct Failing final : LayerNode {
  std::shared_ptr<std::atomic<int>> victim;  // -1: none
  explicit Failing(std::shared_ptr<std::atomic<int>> who) : victim(std::move(who)) {}
  std::string class_name() const override { return "Failing"; }
  Tensor call(Call& c, const Tensor& x) const override {
    if (!c.training() || x.is_abstract() || c.options().local_index != *victim) return x;
    *victim = -1;
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    throw InvalidArgumentError("planted by the test");
  }
};

/// Six batches, of which number `failing` fails; returns the weights.
Tensors trained(const Strategy& strategy, const Optimizer& optimizer, int failing) {
  clear_session();
  set_random_seed(3);
  const auto victim = std::make_shared<std::atomic<int>>(-1);
  const Model model = strategy.scope([&] {
    return Sequential({Input({4}), Dense(5, {.activation = "tanh"}), make_layer<Failing>(victim), Dense(2)});
  });
  model.compile({.optimizer = optimizer, .loss = "mse"});
  for (int step = 0; step < 6; ++step) {
    const Tensor x = wave({11, 4}, 0.3 + step), y = wave({11, 2}, 0.7 + step);
    if (step != failing) {
      model.train_on_batch(x, y);
      continue;
    }
    *victim = strategy.num_replicas_in_sync() - 1;
    EXPECT_THROW(model.train_on_batch(x, y), InvalidArgumentError);
  }
  return model.get_weights();
}

void expect_numbers_of_one_device(const std::function<Optimizer()>& optimizer) {
  for (const int failing : {0, 1, 2, 4}) {
    SCOPED_TRACE("batch " + std::to_string(failing) + " fails");
    const Tensors expected = trained(OneDeviceStrategy("cpu:0"), optimizer(), failing);
    at_every_place([&](const Place&, const Strategy& strategy) {
      const Tensors received = trained(strategy, optimizer(), failing);
      for (size_t i = 0; i < expected.size(); ++i) expect_numbers(received[i], numbers(expected[i]), 1e-5f);
    });
  }
}

TEST(ErrorsInReplicas, AFailedStepChangesNothing) {
  expect_numbers_of_one_device([] { return SGD({.learning_rate = 0.1, .momentum = 0.9}); });
}

// What was gathered before is forgotten: some replicas have added to it, others have not.
TEST(ErrorsInReplicas, AFailedStepOfAnAccumulation) {
  expect_numbers_of_one_device(
      [] { return SGD({.learning_rate = 0.1, .momentum = 0.9, .gradient_accumulation_steps = 3}); });
}

}  // namespace
}  // namespace nyala::errors_test
