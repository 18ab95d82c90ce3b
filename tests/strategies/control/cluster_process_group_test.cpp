// Threads pose as the processes of a cluster; real ones are in tests/tools/launch_training_test.cpp.
#include <nyala/strategies/control/cluster_process_group.h>

#include <fstream>
#include <future>

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <nyala/backend/core/version.h>
#include <nyala/strategies/control/own_address.h>
#include <nyala/strategies/process_generations.h>
#include <nyala/strategies/cluster/simple_cluster_resolver.h>
#include <nyala/strategies/cluster/tf_config_cluster_resolver.h>
#include <nyala/strategies/communicators/gloo_communicator.h>
#include <nyala/tests/support/error_text.h>
#include <nyala/tests/support/free_port.h>

namespace nyala::detail {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

SimpleClusterResolver worker(const std::vector<std::string>& addresses, int index) {
  return SimpleClusterResolver(
      {.cluster_spec = ClusterSpec({{"worker", addresses}}), .task_type = "worker", .task_id = index});
}

class ClusterGroup : public testing::Test {
 protected:
  using Group = std::shared_ptr<ProcessGroup>;

  void SetUp() override {
    if (!grpc_is_built()) GTEST_SKIP() << "this build has no gRPC";
    for (int rank = 0; rank < 3; ++rank) addresses_.push_back("127.0.0.1:" + std::to_string(free_port()));
  }
  Group group(int rank, CommunicationOptions options = {},
              Environment environment = {{"NYALA_REJOIN", "1"}}) const {
    if (options.timeout == CommunicationOptions().timeout) options.timeout = 30s;
    return cluster_process_group(worker(addresses_, rank), options, environment);
  }
  /// f(rank) on a thread each; what they throw is thrown here.
  template <class F>
  static void as_ranks(int size, F&& f) {
    std::vector<std::future<void>> ends;
    for (int rank = 0; rank < size; ++rank)
      ends.push_back(std::async(std::launch::async, [&f, rank] { f(rank); }));
    for (std::future<void>& end : ends) end.get();
  }
  static float sum_of(const ProcessCommunicators& processes) {
    float value = static_cast<float>(processes.steps->rank() + 1);
    processes.steps->all_reduce({&value, 1, DType::float32}, CollectiveOp::sum);
    processes.gradients->all_reduce({&value, 1, DType::float32}, CollectiveOp::max);
    return value;
  }

  std::vector<std::string> addresses_;
};

TEST_F(ClusterGroup, ProcessesMeetAtTheFirstOnesAddress) {
  as_ranks(3, [&](int rank) {
    const Group processes = group(rank);
    const ProcessCommunicators made = processes->join();
    EXPECT_EQ(made.steps->rank(), rank);
    EXPECT_EQ(made.steps->size(), 3);
    EXPECT_THAT(made.steps->describe(), HasSubstr("shared memory 'steps'"));
    EXPECT_THAT(processes->describe(), HasSubstr("rank " + std::to_string(rank) +
                                                 " of 3 processes of the control "
                                                 "plane at " +
                                                 addresses_[0]));
    EXPECT_EQ(sum_of(made), 6);
  });
}

/// Memory that communicators of this process share, still mapped.
int segments_left() {
  std::ifstream maps("/proc/self/maps");
  int count = 0;
  for (std::string line; std::getline(maps, line);)
    if (line.find("/memfd:nyala") != std::string::npos) ++count;
  return count;
}

TEST_F(ClusterGroup, NothingIsLeftOfOneThatEnded) {
  const int before = segments_left();
  as_ranks(3, [&](int rank) {
    const Group processes = group(rank);
    const ProcessCommunicators made = processes->join();
    EXPECT_EQ(made.steps->size(), 3);
    EXPECT_GT(segments_left(), before);
    made.steps->barrier();
  });
  EXPECT_EQ(segments_left(), before);
}

TEST_F(ClusterGroup, GlooWhereItIsAskedFor) {
  if (!gloo_is_built()) GTEST_SKIP() << "this build has no Gloo";
  addresses_.resize(2);
  as_ranks(2, [&](int rank) {
    const Group processes = group(rank, {.implementation = CommunicationImplementation::gloo});
    const ProcessCommunicators made = processes->join();
    EXPECT_THAT(made.gradients->describe(), HasSubstr("Gloo 'gradients'"));
    EXPECT_EQ(sum_of(made), 3);
    made.steps->barrier();
  });
}

TEST_F(ClusterGroup, GenerationsFollowEachOther) {
  as_ranks(3, [&](int rank) {
    const Group processes = group(rank);
    ProcessCommunicators made = processes->join();
    for (uint64_t generation = 2; generation < 5; ++generation) {
      if (rank == 1) {
        made.steps->abort("once more");
      } else {
        float value = 0;
        EXPECT_THROW(made.steps->all_reduce({&value, 1, DType::float32}, CollectiveOp::sum),
                     CommunicationError);
      }
      EXPECT_TRUE(processes->can_rejoin());
      made = processes->join();
      EXPECT_EQ(made.steps->generation(), generation);
      EXPECT_EQ(sum_of(made), 6);
    }
  });
}

TEST_F(ClusterGroup, AnotherClusterIsToldToBothSides) {
  const std::string first = addresses_[0];
  for (const std::vector<std::string>& others :
       {std::vector<std::string>{first, "127.0.0.1:1"}, {first, addresses_[1], addresses_[2]}}) {
    const auto begun = std::chrono::steady_clock::now();
    const std::vector<std::string> two = {first, addresses_[1]};
    as_ranks(2, [&](int rank) {
      const std::vector<std::string> parts =
          others.size() == 2 ? std::vector<std::string>{"disagree on 'the cluster'", "rank 0 on",
                                                        addresses_[1], "rank 1 on", "127.0.0.1:1"}
                             : std::vector<std::string>{"rank 1 on", "says that there are 3 processes",
                                                        "the control plane was told 2"};
      expect_error<CommunicationError>(
          [&] {
            cluster_process_group(worker(rank == 0 ? two : others, rank), {.timeout = 30s}, Environment({}))
                ->join();
          },
          parts);
    });
    EXPECT_LT(std::chrono::steady_clock::now() - begun, 15s);
  }
}

/// The process that runs the control plane stays for that.
TEST_F(ClusterGroup, WhoComesWhenTheOthersWereRefusedHearsWhy) {
  const auto begun = std::chrono::steady_clock::now();
  as_ranks(3, [&](int rank) {
    std::vector<std::string> addresses = addresses_;
    if (rank == 1) addresses[2] = "127.0.0.1:1";
    if (rank == 2) std::this_thread::sleep_for(500ms);
    expect_error<CommunicationError>(
        [&] { cluster_process_group(worker(addresses, rank), {.timeout = 30s}, Environment({}))->join(); },
        {"disagree on 'the cluster'", "rank 0 on", "rank 1 on"});
  });
  EXPECT_LT(std::chrono::steady_clock::now() - begun, 15s);
}

TEST_F(ClusterGroup, AnAbortReachesAllWithItsText) {
  as_ranks(3, [&](int rank) {
    const Group processes = group(rank);
    const ProcessCommunicators made = processes->join();
    if (rank == 2) return processes->abort("callback: the disk is full");
    expect_error<CommunicationError>([&] { made.steps->barrier(); },
                                     {"rank 2", "callback: the disk is full"});
    for (int i = 0; i < 1000 && processes->can_rejoin(); ++i) std::this_thread::sleep_for(10ms);
    EXPECT_FALSE(processes->can_rejoin());
    EXPECT_THAT(processes->ended_by(), HasSubstr("the disk is full"));
    expect_error<CommunicationError>([&] { processes->join(); }, {"the disk is full"});
  });
}

/// What a thread does when an exception ends its program's scope.
TEST_F(ClusterGroup, WhoIsDestroyedByAnExceptionEndsTheGeneration) {
  as_ranks(3, [&](int rank) {
    if (rank == 2) {
      try {
        const Group processes = group(rank);
        processes->join();
        throw std::runtime_error("the user's");
      } catch (const std::runtime_error&) {
        return;
      }
    }
    const Group processes = group(rank);
    const ProcessCommunicators made = processes->join();
    EXPECT_THROW(made.steps->barrier(), CommunicationError);
  });
}

TEST_F(ClusterGroup, DifferencesAreNamed) {
  addresses_.resize(2);
  as_ranks(2, [&](int rank) {
    const Group processes = group(rank, {.bytes_per_pack = rank == 0 ? 100 : 200});
    expect_error<CommunicationError>([&] { processes->join(); },
                                     {"bytes_per_pack': rank 0 on", "has '100', rank 1 on", "has '200'"});
  });
  as_ranks(2, [&](int rank) {
    const Group processes = group(rank, {.wire_dtype = rank == 0 ? DType::float32 : DType::bfloat16});
    expect_error<CommunicationError>(
        [&] { processes->join(); }, {"wire_dtype': rank 0 on", "has 'float32', rank 1 on", "has 'bfloat16'"});
  });
  as_ranks(2, [&](int rank) {
    const Group processes = group(rank, {.timeout = rank == 0 ? 6s : 7s});
    expect_error<CommunicationError>(
        [&] { processes->join(); },
        {"communication_options.timeout': rank 0 on", "has '6000 ms', rank 1 on", "has '7000 ms'"});
  });
  as_ranks(2, [&](int rank) {
    if (rank == 0)
      return expect_error<CommunicationError>(
          [&] { group(0)->join(); },
          {"'the version of Nyala': rank 0 on", "has '" + std::string(version()) + "'"});
    expect_error<CommunicationError>(
        [&] {
          ControlClient({.address = *parse_address(addresses_[0]),
                         .rank = 1,
                         .size = 2,
                         .facts = {{"the version of Nyala", "9.9.9"}},
                         .timeout = 20s});
        },
        {"rank 1 on", "has '9.9.9'"});
  });
}

TEST_F(ClusterGroup, WhoDoesNotComeIsNamed) {
  addresses_.resize(2);
  expect_error<TimeoutError>([&] { group(0, {.timeout = 200ms})->join(); },
                             {"the start: 1 of 2 processes did not come", "rank 1"});
}

/// When the process of the control plane gives up, those who wait there know at once.
TEST_F(ClusterGroup, WhoWaitsHearsThatTheFirstOneGaveUp) {
  const auto begin = std::chrono::steady_clock::now();
  as_ranks(2, [&](int rank) {
    if (rank == 1) std::this_thread::sleep_for(2500ms);
    expect_error<TimeoutError>([&] { group(rank, {.timeout = 4s})->join(); },
                               {"the start: 1 of 3 processes did not come", "rank 2"});
  });
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 6s);  // its own time ends later
}

/// A control plane as nyala launch keeps it, for two processes.
class LaunchedGroup : public ClusterGroup {
 protected:
  void SetUp() override {
    ClusterGroup::SetUp();
    addresses_.resize(2);
    if (grpc_is_built())
      server_ = std::make_unique<ControlServer>(HostPort{"127.0.0.1", 0}, ControlSecurity{},
                                                ControlStateOptions{.size = 2});
  }
  Group launched(int rank) const {
    return group(rank, {.timeout = kTimeout},
                 {{"NYALA_COORDINATOR", server_->address().text()}, {"NYALA_REJOIN", "1"}});
  }
  double seconds_since(std::chrono::steady_clock::time_point begun) const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  }

  static constexpr std::chrono::milliseconds kTimeout{4000};
  std::unique_ptr<ControlServer> server_;
};

/// It comes late, and then nothing is heard of it but that it lives.
TEST_F(LaunchedGroup, WhoIsLateAndDoesNotConnectTakesNoSecondTimeout) {
  std::promise<void> ended;
  const auto begun = std::chrono::steady_clock::now();
  const auto late = std::async(std::launch::async, [&, end = ended.get_future()] {
    std::this_thread::sleep_for(kTimeout * 3 / 5);
    const ControlFacts facts = {{"the version of Nyala", std::string(version())},
                                {"communication_options.implementation", "automatic"},
                                {"communication_options.bytes_per_pack", "0"},
                                {"communication_options.wire_dtype", "float32"},
                                {"communication_options.trusted_network", "false"},
                                {"communication_options.timeout", "4000 ms"},
                                {"the cluster", ClusterSpec({{"worker", addresses_}}).to_string()}};
    ControlClient silent({.address = server_->address(),
                          .rank = 1,
                          .size = 2,
                          .place = place_of_process(),
                          .facts = facts,
                          .timeout = kTimeout});
    end.wait();
    expect_error<CommunicationError>([&] { silent.join(); }, {"rank 1"});  // the first one ended it for good
  });
  const Group first = launched(0);
  expect_error<TimeoutError>([&] { first->join(); }, {"rank 1 did not come in time"});
  EXPECT_LT(seconds_since(begun), 5.8);  // 1.1 times the timeout, not 1.6
  EXPECT_FALSE(first->can_rejoin());
  ended.set_value();
}

/// As where only small messages come through.
TEST_F(LaunchedGroup, WhoConnectsAndSaysNothingIsWaitedForOnce) {
  const auto begun = std::chrono::steady_clock::now();
  const auto silent = std::async(std::launch::async, [&] {
    const Group second = launched(1);
    expect_error<CommunicationError>(
        [&] {
          for (;;) {
            const ProcessCommunicators made = second->join();
            while (!made.steps->failed()) std::this_thread::sleep_for(10ms);
          }
        },
        {"the number of replicas", "rank 1 (process", "did not come in time"});
  });
  const Group first = launched(0);
  expect_error<TimeoutError>([&] { ProcessGenerations(first, std::make_shared<ProcessLink>(1)); },
                             {"the number of replicas", "rank 1 (process", "did not come in time"});
  EXPECT_LT(seconds_since(begun), 8);
  EXPECT_FALSE(first->can_rejoin());
}

TEST_F(ClusterGroup, MistakesAreNamed) {
  const Environment none = {{"NO", "variables"}};
  EXPECT_EQ(cluster_process_group(SimpleClusterResolver(), {}, none), nullptr);
  EXPECT_EQ(cluster_process_group(worker({"a:1"}, 0), {}, none), nullptr);
  const ClusterSpec two({{"worker", {"a:1", "b:1"}}});
  EXPECT_EQ(
      cluster_process_group(
          SimpleClusterResolver({.cluster_spec = two, .task_type = "evaluator", .task_id = 0}), {}, none),
      nullptr);
  expect_error([&] { cluster_process_group(worker({"a:1", "b:1"}, 2), {}, none); }, {"index of this task"});
  const ClusterSpec servers({{"worker", {"a:1", "b:1"}}, {"ps", {"c:1"}}});
  expect_error(
      [&] {
        cluster_process_group(
            SimpleClusterResolver({.cluster_spec = servers, .task_type = "worker", .task_id = 0}), {}, none);
      },
      {"MultiWorkerMirroredStrategy", "'ps'"});
  expect_error(
      [&] {
        cluster_process_group(worker({"a:1", "b:1"}, 1), {.timeout = 0ms}, none);
      },
      {"CommunicationOptions: timeout"});
  expect_error(
      [&] {
        cluster_process_group(worker({"a:1", "b:1"}, 1), {.bytes_per_pack = -1}, none);
      },
      {"CommunicationOptions: bytes_per_pack"});
  expect_error(
      [&] {
        cluster_process_group(worker({"a:1", "b:1"}, 1), {.wire_dtype = DType::float16}, none);
      },
      {"CommunicationOptions: wire_dtype", "float16", "leave the range"});
  expect_error(
      [&] {
        cluster_process_group(worker({"a:1", "b:1"}, 1), {}, {{"NYALA_COORDINATOR", "a"}});
      },
      {"NYALA_COORDINATOR: expected an address"});
  expect_error(
      [&] {
        cluster_process_group(worker({"a:1", "b:1"}, 1), {}, {{"NYALA_REJOIN", "yes"}});
      },
      {"NYALA_REJOIN: expected", "'yes'"});
  expect_error(
      [&] {
        cluster_process_group(worker({"10.0.0.1:1", "10.0.0.2:1"}, 1), {}, none);
      },
      {"10.0.0.1:1 can be reached from other machines", "NYALA_TOKEN", "NYALA_TLS_CA", "NYALA_INSECURE=1"});
  const Group first = group(0);
  expect_error<IoError>([&] { group(0); }, {"cannot listen on " + addresses_[0], "taken"});
}

TEST(OwnAddress, IsTheOneTowardsAnother) {
  EXPECT_EQ(address_towards({"127.0.0.1", 9}), "127.0.0.1");
  EXPECT_EQ(address_towards({"no-such-host.invalid", 9}), "");
  EXPECT_TRUE(resolves_to_loopback("localhost"));
  EXPECT_FALSE(resolves_to_loopback("192.0.2.1"));
  EXPECT_FALSE(resolves_to_loopback("no-such-host.invalid"));
  EXPECT_EQ(place_of_process(), place_of_process());
}

}  // namespace
}  // namespace nyala::detail
