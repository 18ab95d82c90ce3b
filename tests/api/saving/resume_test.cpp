#include <cstdint>

#include <gtest/gtest.h>

#include <nyala/backend/runtime/device_registry.h>
#include <nyala/tests/api/saving/interrupted_training.h>

namespace nyala {
namespace {

using namespace interrupted;

class Resume : public testing::TestWithParam<int> {
 protected:
  static void SetUpTestSuite() { configure_logical_devices("cpu", 4); }
  static void TearDownTestSuite() { configure_logical_devices("cpu", 1); }
  Training training() const { return {.replicas = GetParam()}; }
};

TEST_P(Resume, AtTheEndOfAnEpoch) { expect_resumes(training(), 1, 3); }

TEST_P(Resume, InTheMiddleOfAnEpoch) {
  Training t = training();
  t.save_freq = 3;
  t.validation = true;
  expect_resumes(t, 1, 5);
  expect_resumes(t, 0, 2);
}

/// The rate in the backup is that which the epoch began with.
TEST_P(Resume, ARateThatACallbackSetsOncePerEpoch) {
  Training t = training();
  t.halves_rate = true;
  expect_resumes(t, 1, 3);
  for (const int64_t save_freq : {3, 8}) {
    t.save_freq = save_freq;
    expect_resumes(t, 1, 5);
    expect_resumes(t, 2, 0);
  }
}

TEST_P(Resume, BehindTheLastBatchOfAnEpoch) {
  Training t = training();
  t.save_freq = 8;
  expect_resumes(t, 1, 0);
}

TEST_P(Resume, InTheMiddleOfAnAccumulationCycle) {
  Training t = training();
  t.optimizer = accumulating;
  for (int64_t freq : {1, 4, 5}) {
    t.save_freq = freq;
    expect_resumes(t, 1, 5);
  }
}

TEST_P(Resume, SeparateCopiesOfTheWeights) {
  Training t = training();
  t.shared_weights = SharedWeights::never;
  t.optimizer = accumulating;
  t.save_freq = 5;
  expect_resumes(t, 1, 5);
}

TEST_P(Resume, ScheduleMomentumAndClipping) {
  Training t = training();
  t.optimizer = with_schedule;
  t.save_freq = 3;
  expect_resumes(t, 1, 5);
}

TEST_P(Resume, MovingAverages) {
  Training t = training();
  t.optimizer = averaging;
  t.save_freq = 3;
  expect_resumes(t, 1, 5);
}

TEST_P(Resume, SeveralStepsPerExecution) {
  Training t = training();
  t.steps_per_execution = 3;
  t.save_freq = 2;
  expect_resumes(t, 1, 5);
  expect_resumes(t, 1, 7);
}

TEST_P(Resume, ShuffledDataset) {
  Training t = training();
  t.dataset = Dataset::from_tensor_slices(x(), y()).shuffle(20, {.seed = 3}).batch(kBatch).prefetch(2);
  t.save_freq = 3;
  expect_resumes(t, 1, 5);
}

/// Nothing is read from a device before its work is done.
TEST_P(Resume, OnTheTestDevice) {
  enable_ghost_device();
  Training t = training();
  t.device_kind = "ghost";
  t.optimizer = accumulating;
  t.save_freq = 4;
  expect_resumes(t, 1, 5);
}

/// The data runs on over the epochs, which are no multiples of it.
TEST_P(Resume, StepsPerEpoch) {
  Training t = training();
  t.dataset = Dataset::from_tensor_slices(x(), y()).shuffle(kRows, {.seed = 3}).repeat().batch(kBatch);
  t.steps_per_epoch = 5;
  expect_resumes(t, 1, 3);
  t.save_freq = 2;
  t.steps_per_execution = 2;
  expect_resumes(t, 2, 3);
}

INSTANTIATE_TEST_SUITE_P(Replicas, Resume, testing::Values(1, 2), testing::PrintToStringParamName());

}  // namespace
}  // namespace nyala
