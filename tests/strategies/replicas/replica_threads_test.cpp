#include <mutex>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include <nyala/backend/runtime/context.h>
#include <nyala/backend/runtime/device_registry.h>
#include <nyala/strategies/replicas/replica_threads.h>

namespace nyala {

using namespace nyala::detail;

namespace {

class ReplicaThreadsTest : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override { configure_logical_devices("cpu", 7); }
  void TearDown() override { configure_logical_devices("cpu", 1); }
  static std::vector<Device> devices() {
    std::vector<Device> out;
    for (int i = 0; i < GetParam(); ++i) out.push_back(Device("cpu:" + std::to_string(i)));
    return out;
  }
};

TEST_P(ReplicaThreadsTest, EveryReplicaRunsOncePerCall) {
  ReplicaThreads threads(devices());
  std::vector<int> calls(static_cast<size_t>(GetParam()), 0);
  for (int round = 1; round <= 200; ++round) {
    threads.run([&](int replica) { ++calls[static_cast<size_t>(replica)]; });
    for (int count : calls) ASSERT_EQ(count, round);
  }
}

TEST_P(ReplicaThreadsTest, AReplicaKeepsItsThreadAndReplicaZeroIsTheCaller) {
  ReplicaThreads threads(devices());
  std::vector<std::set<std::thread::id>> ids(static_cast<size_t>(GetParam()));
  for (int round = 0; round < 20; ++round)
    threads.run([&](int replica) { ids[static_cast<size_t>(replica)].insert(std::this_thread::get_id()); });
  std::set<std::thread::id> all;
  for (const auto& of_replica : ids) {
    EXPECT_EQ(of_replica.size(), 1u);
    all.insert(of_replica.begin(), of_replica.end());
  }
  EXPECT_EQ(all.size(), static_cast<size_t>(GetParam()));
  EXPECT_EQ(*ids[0].begin(), std::this_thread::get_id());
}

TEST_P(ReplicaThreadsTest, EachSeesItsDeviceAndTheCallersContextComesBack) {
  ReplicaThreads threads(devices());
  const Device before = thread_context().device;
  const int team = thread_context().compute_threads;
  std::vector<Device> seen(static_cast<size_t>(GetParam()));
  std::vector<int> teams(static_cast<size_t>(GetParam()));
  threads.run([&](int replica) {
    seen[static_cast<size_t>(replica)] = thread_context().device;
    teams[static_cast<size_t>(replica)] = thread_context().compute_threads;
  });
  EXPECT_EQ(seen, devices());
  const int share = GetParam() > 1 ? std::max(1, available_cores() / GetParam()) : team;
  EXPECT_EQ(teams, std::vector<int>(static_cast<size_t>(GetParam()), share));
  EXPECT_EQ(thread_context().device, before);
  EXPECT_EQ(thread_context().compute_threads, team);
}

TEST_P(ReplicaThreadsTest, AnIdleGroupEnds) {
  for (int i = 0; i < 20; ++i) ReplicaThreads threads(devices());
}

INSTANTIATE_TEST_SUITE_P(Replicas, ReplicaThreadsTest, ::testing::Values(1, 2, 3, 7));

}  // namespace

}  // namespace nyala
