#include <chrono>
#include <functional>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/backend/core/error.h>
#include <nyala/backend/runtime/device_registry.h>
#include <nyala/strategies/replicas/replica_group.h>

namespace nyala::replica_group_test {

namespace {

using ::testing::HasSubstr;

std::vector<Device> cpus(int count) {
  std::vector<Device> devices;
  for (int i = 0; i < count; ++i) devices.push_back(Device("cpu:" + std::to_string(i)));
  return devices;
}

/// Runs body(id) on a thread per replica and returns the text of each one's error.
std::vector<std::string> on_threads(int count, const std::function<void(int)>& body) {
  std::vector<std::string> errors(static_cast<size_t>(count));
  std::vector<std::thread> threads;
  for (int id = 0; id < count; ++id)
    threads.emplace_back([&, id] {
      try {
        body(id);
      } catch (const CommunicationError& error) {
        errors[static_cast<size_t>(id)] = error.what();
      }
    });
  for (std::thread& thread : threads) thread.join();
  return errors;
}

class ReplicaGroupTest : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override { configure_logical_devices("cpu", 7); }
  void TearDown() override { configure_logical_devices("cpu", 1); }
};

/// Cancelled at every moment of its coming.
TEST(ReplicaGroupCancelTest, WhoComesMeanwhileDoesNotWaitForEver) {
  ReplicaGroup group(cpus(2));
  std::atomic<int> round{0}, ended{0};
  constexpr int kRounds = 50000;
  std::thread comes([&] {
    for (int i = 1; i <= kRounds; ++i) {
      while (round.load() < i) std::this_thread::yield();
      EXPECT_THROW(group.meet(0), CommunicationError);
      ended = i;
    }
  });
  for (int i = 1; i <= kRounds; ++i) {
    group.reset();
    round = i;
    volatile int wait = i % 400;
    while (wait > 0) wait = wait - 1;
    group.cancel("a test");
    while (ended.load() < i) std::this_thread::yield();
  }
  comes.join();
}

TEST_P(ReplicaGroupTest, NobodyLeavesAMeetingBeforeAllCame) {
  const int count = GetParam();
  ReplicaGroup group(cpus(count));
  std::atomic<int> came{0}, early{0};
  const auto errors = on_threads(count, [&](int id) {
    for (int round = 1; round <= 300; ++round) {
      came.fetch_add(1);
      group.meet(id);
      if (came.load() < round * count) early.fetch_add(1);
      group.meet(id);
    }
    group.leave(id);
  });
  for (const std::string& error : errors) EXPECT_EQ(error, "");
  EXPECT_EQ(early, 0);
}

TEST_P(ReplicaGroupTest, SumsAndGathersInReplicaOrder) {
  const int count = GetParam();
  ReplicaGroup group(cpus(count));
  std::vector<std::vector<float>> sums(static_cast<size_t>(count)), stacks(static_cast<size_t>(count));
  const auto value = [](int id) {
    return Tensor({0.1f * static_cast<float>(id) + 0.3f, static_cast<float>(id)});
  };
  for (int step = 0; step < 20; ++step) {
    group.reset();
    const auto errors = on_threads(count, [&](int id) {
      const Tensor own = value(id).alias_on(Device("cpu:" + std::to_string(id)));
      const Tensor sum = group.context(id).all_reduce_sum(own);
      const Tensor stack = group.context(id).all_gather(own);
      EXPECT_EQ(sum.device(), own.device());
      EXPECT_EQ(stack.shape(), Shape({count, 2}));
      sums[static_cast<size_t>(id)] = sum.to_vector<float>();
      stacks[static_cast<size_t>(id)] = stack.to_vector<float>();
      group.leave(id);
    });
    std::vector<float> expected = value(0).to_vector<float>(), stacked;
    for (int id = 1; id < count; ++id)
      for (size_t i = 0; i < 2; ++i) expected[i] += value(id).to_vector<float>()[i];
    for (int id = 0; id < count; ++id)
      for (float v : value(id).to_vector<float>()) stacked.push_back(v);
    for (int id = 0; id < count; ++id) {
      EXPECT_EQ(errors[static_cast<size_t>(id)], "");
      EXPECT_EQ(sums[static_cast<size_t>(id)], expected);
      EXPECT_EQ(stacks[static_cast<size_t>(id)], stacked);
    }
  }
}

TEST_P(ReplicaGroupTest, ReplicasWithoutRowsTakePart) {
  const int count = GetParam();
  ReplicaGroup group(cpus(count));
  const auto errors = on_threads(count, [&](int id) {
    const Tensor sum = group.context(id).all_reduce_sum(Tensor::zeros({0, 3}));
    EXPECT_EQ(sum.shape(), Shape({0, 3}));
  });
  for (const std::string& error : errors) EXPECT_EQ(error, "");
}

TEST_P(ReplicaGroupTest, CancelWakesEverybodyWithTheReason) {
  const int count = GetParam();
  ReplicaGroup group(cpus(count));
  const auto errors = on_threads(count, [&](int id) {
    if (id == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      group.cancel("replica 0 burned down");
      group.cancel("a second reason");
    }
    group.meet(id);
  });
  for (const std::string& error : errors) EXPECT_THAT(error, HasSubstr("replica 0 burned down"));
  group.reset();
  for (const std::string& error : on_threads(count, [&](int id) { group.meet(id); })) EXPECT_EQ(error, "");
}

/// One replica that leaves early is an error for those who wait, whether they came before or after.
TEST_P(ReplicaGroupTest, LeavingEarlyBreaksTheMeeting) {
  const int count = GetParam();
  for (int late : {0, count - 1})
    for (int wait : {0, 4}) {
      ReplicaGroup group(cpus(count));
      const auto errors = on_threads(count, [&](int id) {
        if (id == late) {
          std::this_thread::sleep_for(std::chrono::milliseconds(wait));
          return group.leave(id);
        }
        group.meet(id);
      });
      for (int id = 0; id < count; ++id)
        EXPECT_THAT(errors[static_cast<size_t>(id)],
                    id == late ? HasSubstr("") : HasSubstr("ended its step"));
    }
}

/// The last meeting of a step and the ends of the faster replicas overlap: that is no error.
TEST_P(ReplicaGroupTest, LeavingAfterTheLastMeetingIsNoError) {
  const int count = GetParam();
  ReplicaGroup group(cpus(count));
  int failed = 0;
  for (int step = 0; step < 300; ++step) {
    group.reset();
    for (const std::string& error : on_threads(count, [&](int id) {
           group.meet(id);
           group.leave(id);
         }))
      failed += error.empty() ? 0 : 1;
  }
  EXPECT_EQ(failed, 0);
}

INSTANTIATE_TEST_SUITE_P(Replicas, ReplicaGroupTest, ::testing::Values(2, 3, 4, 7));

TEST(ReplicaGroupErrorTest, DifferentShapesAndDtypesCancelForAll) {
  const std::vector<std::pair<Tensor, Tensor>> pairs = {
      {Tensor::zeros({2}), Tensor::zeros({3})}, {Tensor::zeros({2}), Tensor::zeros({2}, DType::float64)}};
  for (const auto& [first, second] : pairs) {
    ReplicaGroup group({"cpu:0", "cpu:0"});
    const auto errors =
        on_threads(2, [&](int id) { group.context(id).all_reduce_sum(id == 0 ? first : second); });
    for (const std::string& error : errors) {
      EXPECT_THAT(error, HasSubstr("came to one all_reduce with different tensors: replica 0 with "));
      EXPECT_THAT(error, HasSubstr("float32 (2,)"));
    }
  }
}

TEST(ReplicaGroupErrorTest, MeetingsWorkOnAsynchronousDevices) {
  enable_ghost_device();
  ReplicaGroup group({"ghost:0", "ghost:1"});
  for (int step = 0; step < 20; ++step) {
    group.reset();
    const auto errors = on_threads(2, [&](int id) {
      const Device device("ghost:" + std::to_string(id));
      const Tensor own = Tensor::full({3}, 1.0 + id, DType::float32, device);
      const Tensor sum = group.context(id).all_reduce_sum(own);
      EXPECT_EQ(sum.device(), device);
      EXPECT_EQ(sum.to_vector<float>(), std::vector<float>(3, 3.0f));
      EXPECT_EQ(group.context(id).all_gather(own).to_vector<float>(), std::vector<float>({1, 1, 1, 2, 2, 2}));
    });
    for (const std::string& error : errors) EXPECT_EQ(error, "");
  }
}

}  // namespace

}  // namespace nyala::replica_group_test
