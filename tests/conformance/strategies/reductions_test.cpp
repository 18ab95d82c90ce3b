// How often fit brings gradients together, by which op, and what a profile of it tells.
#include <atomic>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/api/layers/all.h>
#include <nyala/api/losses/all.h>
#include <nyala/api/optimizers/all.h>
#include <nyala/backend/runtime/device_registry.h>
#include <nyala/strategies/central_storage.h>
#include <nyala/strategies/cross_device/all.h>
#include <nyala/strategies/in_process.h>
#include <nyala/strategies/mirrored.h>
#include <nyala/tests/conformance/strategies/promise_case.h>

namespace nyala {

namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// A program's own op: the direct one, counted.
class Counted final : public CrossDeviceOps {
 public:
  explicit Counted(std::shared_ptr<std::atomic<int>> calls,
                   std::shared_ptr<std::atomic<int64_t>> elements = nullptr)
      : calls_(std::move(calls)), elements_(std::move(elements)) {}
  std::string name() const override { return "Counted"; }

 protected:
  void sum_in_place(std::span<const Tensor> buffers, bool to_all) const override {
    ++*calls_;
    if (elements_) *elements_ += buffers[0].num_elements();
    DirectAllReduce().all_reduce(ReduceOp::sum, buffers, to_all);
  }

 private:
  std::shared_ptr<std::atomic<int>> calls_;
  std::shared_ptr<std::atomic<int64_t>> elements_;
};

class ReductionsTest : public ::testing::Test {
 protected:
  void SetUp() override { configure_logical_devices("cpu", 3); }
  void TearDown() override { configure_logical_devices("cpu", 1); }

  /// Six steps of 8 rows. The model's variables lie in two buckets.
  static void fit(const Strategy& strategy, int64_t accumulation_steps) {
    clear_session();
    const Model model = strategy.scope([&] {
      const Sequential net({Input({5}), Dense(40, {.activation = "tanh"}), Dense(3)});
      net.compile(
          {.optimizer = SGD({.learning_rate = 0.1, .gradient_accumulation_steps = accumulation_steps}),
           .loss = SparseCategoricalCrossentropy({.from_logits = true})});
      return net;
    });
    FitConfig config;
    config.batch_size = 8;
    config.epochs = 1;
    config.verbose = 0;
    model.fit(random_numbers(1, {48, 5}, DType::float32), random_labels(2, 48, 3), config);
  }
};

TEST_F(ReductionsTest, AccumulatingStepsReduceOnlyAtTheirEnd) {
  for (const auto& [accumulation, updates] : {std::pair<int64_t, int>{0, 6}, {2, 3}, {3, 2}, {6, 1}}) {
    const auto calls = std::make_shared<std::atomic<int>>(0);
    fit(MirroredStrategy(
            {.devices = {"cpu:0", "cpu:1"}, .cross_device_ops = Counted(calls), .bucket_elements = 100}),
        accumulation);
    EXPECT_EQ(*calls, updates * 2) << accumulation << " steps to an update";
  }
}

TEST_F(ReductionsTest, CentralStorageUsesTheGivenOp) {
  const auto calls = std::make_shared<std::atomic<int>>(0);
  const CentralStorageStrategy strategy({.compute_devices = {"cpu:0", "cpu:1", "cpu:2"},
                                         .cross_device_ops = Counted(calls),
                                         .bucket_elements = 100});
  fit(strategy, 0);
  EXPECT_EQ(*calls, 12);
  EXPECT_THAT(strategy.describe(), AllOf(HasSubstr("Counted"), HasSubstr("2 buckets now")));
}

/// The table's gradient goes through the op in the first step only; then it travels as rows.
TEST_F(ReductionsTest, AnEmbeddingsGradientTravelsAsRows) {
  const auto calls = std::make_shared<std::atomic<int>>(0);
  const auto elements = std::make_shared<std::atomic<int64_t>>(0);
  const MirroredStrategy strategy(
      {.devices = {"cpu:0", "cpu:1"}, .cross_device_ops = Counted(calls, elements), .bucket_elements = 10});
  clear_session();
  const Model model = strategy.scope([] {
    const Sequential net({Input({4}, {.dtype = "int64"}), Embedding(1000, 3), Flatten(), Dense(2)});
    net.compile({.optimizer = Adam(), .loss = SparseCategoricalCrossentropy({.from_logits = true})});
    return net;
  });
  FitConfig config;
  config.batch_size = 8;
  config.verbose = 0;
  model.fit(random_labels(3, 48 * 4, 1000).with_shape({48, 4}), random_labels(4, 48, 2), config);
  const int64_t dense = 4 * 3 * 2 + 2, gap = 14;  // of the bias, up to the next multiple of 16
  EXPECT_GE(*elements, 3000 + 6 * dense);
  EXPECT_LE(*elements, 3000 + 6 * (dense + 2 * gap));
}

TEST_F(ReductionsTest, AProfileOfFitTellsWhereTheTimeWent) {
  const MirroredStrategy strategy({.devices = {"cpu:0", "cpu:1"}});
  strategy.profile();
  fit(strategy, 0);
  const StepTimes times = strategy.step_times();
  EXPECT_EQ(times.steps, 6);
  for (const double part : {times.compute, times.reduce, times.wait, times.update, times.input})
    EXPECT_GT(part, 0.0);
  EXPECT_THAT(strategy.describe(), AllOf(HasSubstr("mean of 6"), HasSubstr("compute"), HasSubstr("input")));
}

}  // namespace

}  // namespace nyala
