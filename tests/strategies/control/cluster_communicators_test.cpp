// Threads pose as processes of several hosts: by what they speak follows from their places.
#include <nyala/strategies/control/cluster_communicators.h>

#include <filesystem>
#include <future>

#include <unistd.h>

#include <nyala/strategies/communicators/file_rendezvous.h>
#include <nyala/strategies/communicators/gloo_communicator.h>
#include <nyala/strategies/communicators/host_name.h>
#include <nyala/tests/support/error_text.h>

namespace nyala::detail {
namespace {

using testing::HasSubstr;
constexpr auto kAutomatic = CommunicationImplementation::automatic;

class ClusterCommunicatorsTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "/cluster_communicators_" + std::to_string(::getpid());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  /// Sums over ranks whose places are the letters; all say `kind`.
  void expect_sums(const std::string& places, const std::string& kind) {
    std::vector<ControlMember> members;
    for (const char place : places) members.push_back({"host", "", std::string(1, place)});
    std::vector<std::future<void>> ends;
    for (size_t rank = 0; rank < members.size(); ++rank)
      ends.push_back(std::async(std::launch::async, [&, rank] {
        const CommunicatorOptions options{.rank = static_cast<int>(rank),
                                          .size = static_cast<int>(members.size()),
                                          .timeout = std::chrono::seconds(30)};
        const ClusterCommunicators cluster(options, members, std::make_shared<FileRendezvous>(folder_));
        const ProcessCommunicators made = cluster.make(kAutomatic);
        for (const auto& one : {made.steps, made.gradients}) {
          EXPECT_THAT(one->describe(), testing::StartsWith(kind + " '"));
          float value = static_cast<float>(rank + 1);
          one->all_reduce({&value, 1, DType::float32}, CollectiveOp::sum);
          EXPECT_EQ(value, static_cast<float>(members.size() * (members.size() + 1) / 2));
          one->barrier();
        }
      }));
    for (std::future<void>& end : ends) end.get();
  }

  std::string folder_;
};

TEST_F(ClusterCommunicatorsTest, OneHostSharesMemory) { expect_sums("aaa", "shared memory"); }

TEST_F(ClusterCommunicatorsTest, SeveralHostsSpeakByGloo) {
  if (!gloo_is_built()) GTEST_SKIP() << "this build has no Gloo";
  expect_sums("ab", "Gloo");
}

TEST_F(ClusterCommunicatorsTest, HostsOfSeveralProcessesSumWithinFirst) {
  if (!gloo_is_built()) GTEST_SKIP() << "this build has no Gloo";
  expect_sums("abab", "hierarchical");
  std::filesystem::remove_all(folder_);
  std::filesystem::create_directories(folder_);
  expect_sums("aab", "hierarchical");
}

/// Rank 0 has come, another one never will, and that becomes known.
TEST_F(ClusterCommunicatorsTest, WhoIsToldThatNobodyComesWaitsNoLonger) {
  const auto rendezvous = std::make_shared<FileRendezvous>(folder_);
  rendezvous->set("g0/steps/gloo/host-1", "loopback " + host_name());
  rendezvous->set("g0/steps/gloo/socket-1", std::string(64, '0') + " 1 127.0.0.1");
  for (const char* place : {"a", "b"}) {  // the other one's: of the same host and of another one
    if (*place == 'b' && !gloo_is_built()) continue;
    std::stop_source stop;
    std::thread tells([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
      stop.request_stop();
    });
    const auto begin = std::chrono::steady_clock::now();
    const ClusterCommunicators cluster({.rank = 0, .size = 2, .timeout = std::chrono::seconds(60)},
                                       {{"host", "", "a"}, {"host", "", place}}, rendezvous);
    expect_error<CommunicationError>([&] { cluster.make(kAutomatic, stop.get_token()); },
                                     {"the group was given up"});
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20)) << place;
    tells.join();
  }
}

/// Whatever each of them may take later.
TEST_F(ClusterCommunicatorsTest, AllAreFormedInOneTime) {
  const auto rendezvous = std::make_shared<FileRendezvous>(folder_);
  rendezvous->set("g0/steps/gloo/host-1", "loopback " + host_name());
  rendezvous->set("g0/steps/gloo/socket-1", std::string(64, '0') + " 1 127.0.0.1");
  for (const char* place : {"a", "b"}) {
    if (*place == 'b' && !gloo_is_built()) continue;
    const auto begin = std::chrono::steady_clock::now();
    const ClusterCommunicators cluster({.rank = 0, .size = 2, .timeout = std::chrono::seconds(60)},
                                       {{"host", "", "a"}, {"host", "", place}}, rendezvous);
    expect_error<TimeoutError>([&] { cluster.make(kAutomatic, {}, begin + std::chrono::milliseconds(300)); },
                               {"rank 1"});
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20)) << place;
  }
}

TEST_F(ClusterCommunicatorsTest, SharedMemoryDoesNotReachOtherHosts) {
  const ClusterCommunicators cluster({.rank = 0, .size = 2}, {{"alpha", "", "a"}, {"beta", "", "b"}},
                                     std::make_shared<FileRendezvous>(folder_));
  EXPECT_EQ(cluster.num_hosts(), 2);
  expect_error([&] { cluster.make(CommunicationImplementation::shared_memory); },
               {"expected automatic or gloo", "2 hosts, containers or users: alpha, beta"});
  expect_error<NotFoundError>([&] { cluster.make(CommunicationImplementation::nccl); }, {"NCCL"});
}

}  // namespace
}  // namespace nyala::detail
