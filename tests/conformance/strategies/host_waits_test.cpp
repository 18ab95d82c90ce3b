// A warm training step on asynchronous devices only queues work: no thread of the host waits for a device.
#include <gtest/gtest.h>

#include <nyala/backend/runtime/counters.h>
#include <nyala/nyala.h>

namespace nyala {
namespace {

Model small_network(const Optimizer& optimizer) {
  Sequential net({Input({8, 8, 1}), Conv2D(4, 3), BatchNormalization(), ReLU(), MaxPooling2D(2), Dropout(0.2),
                  Flatten(), Dense(10)});
  net.compile({.optimizer = optimizer,
               .loss = SparseCategoricalCrossentropy({.from_logits = true}),
               .metrics = {"accuracy"}});
  return net;
}

Batch batch_of(int64_t rows) {
  std::vector<float> x(static_cast<size_t>(rows * 64));
  std::vector<int64_t> y(static_cast<size_t>(rows));
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 31 % 251) / 251;
  for (size_t i = 0; i < y.size(); ++i) y[i] = static_cast<int64_t>(i % 10);
  return {.x = {Tensor::from(x, {rows, 8, 8, 1})}, .y = {Tensor::from(y)}, .sample_weight = {}};
}

uint64_t waits_of_warm_steps(const Model& model) {
  const Batch batch = batch_of(13);  // replicas have unequal rows
  for (int i = 0; i < 3; ++i) model.train_on_batch(batch);
  const uint64_t before = runtime_counters().host_waits;
  for (int i = 0; i < 3; ++i) model.train_on_batch(batch);
  return runtime_counters().host_waits - before;
}

struct Case {
  const char* name;
  Strategy (*strategy)();
};

class HostWaits : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override { enable_ghost_device(); }
};

TEST_P(HostWaits, AWarmStepHasNone) {
  const Strategy strategy = GetParam().strategy();
  for (const Optimizer& optimizer : {Optimizer(SGD({.learning_rate = 0.01, .momentum = 0.9})),
                                     Optimizer(Adam({.learning_rate = 1e-3, .clipnorm = 1.0}))})
    EXPECT_EQ(waits_of_warm_steps(strategy.scope([&] { return small_network(optimizer); })), 0);
}

TEST(HostWaitCounter, CountsReads) {
  enable_ghost_device();
  const uint64_t before = runtime_counters().host_waits;
  EXPECT_EQ(Tensor({1, 2}).to("ghost:0").to_vector<float>(), (std::vector<float>{1, 2}));
  EXPECT_GT(runtime_counters().host_waits, before);
}

INSTANTIATE_TEST_SUITE_P(
    Strategies, HostWaits,
    testing::Values(Case{"one_device", [] { return Strategy(OneDeviceStrategy("ghost:0")); }},
                    Case{"mirrored",
                         [] { return Strategy(MirroredStrategy({.devices = {"ghost:0", "ghost:1"}})); }},
                    Case{"central_storage",
                         [] {
                           return Strategy(CentralStorageStrategy(
                               {.compute_devices = {"ghost:0", "ghost:1"}, .parameter_device = "ghost:0"}));
                         }}),
    [](const auto& instance) { return instance.param.name; });

}  // namespace
}  // namespace nyala
