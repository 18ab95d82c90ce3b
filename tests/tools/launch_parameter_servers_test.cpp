// Trainings with parameter servers under `nyala launch`: their numbers, and what becomes of them when
// processes are killed.
#include <algorithm>
#include <chrono>
#include <regex>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/strategies/control/control_transport.h>
#include <nyala/tests/tools/tool_test.h>

namespace nyala::launch_parameter_servers_test {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

constexpr int kUpdates = 80;  // 4 epochs of 20 batches

struct Said {
  double loss = 0, weights = 0;
  int updates = -1;
};

class LaunchParameterServers : public ToolTest {
 protected:
  void SetUp() override {
    ToolTest::SetUp();
    if (!detail::grpc_is_built()) GTEST_SKIP() << "this build has no gRPC";
  }
  /// In the test's folder, where the processes leave their numbers.
  ToolRun train(const std::string& what, int servers, int workers, const std::string& environment = "",
                const std::vector<std::string>& options = {}) const {
    const std::string program = NYALA_TEST_PROGRAMS "/parameter_worker '" + what + "'";
    const std::string command =
        "cd " + folder_.path().string() + " && exec env " + environment + " " + program;
    std::vector<std::string> words = {
        "launch", "--ps", std::to_string(servers), "--workers", std::to_string(workers), "--chief"};
    words.insert(words.end(), options.begin(), options.end());
    words.insert(words.end(), {"--", "sh", "-c", command});
    return run(words);
  }
  static std::vector<Said> said_in(const std::string& out) {
    std::vector<Said> all;
    const std::regex line("loss ([0-9.]+), weights ([0-9.]+)(, updates ([0-9]+))?");
    for (std::sregex_iterator it(out.begin(), out.end(), line), end; it != end; ++it)
      all.push_back({std::stod((*it)[1]), std::stod((*it)[2]), (*it)[4].matched ? std::stoi((*it)[4]) : -1});
    return all;
  }
  /// What all say of a training that went to its end. A worker that comes when all is over says nothing.
  static void expect_trained(const ToolRun& result, size_t processes) {
    EXPECT_EQ(result.status, 0) << result.err;
    const std::vector<Said> all = said_in(result.out);
    EXPECT_GE(all.size(), 2u) << result.out << result.err;
    EXPECT_LE(all.size(), processes) << result.out << result.err;
    EXPECT_EQ(std::ranges::count(all, kUpdates, &Said::updates), 1) << result.out;
    for (const Said& one : all) {
      EXPECT_EQ(one.loss, all[0].loss);
      EXPECT_EQ(one.weights, all[0].weights);
      EXPECT_TRUE(one.updates == -1 || one.updates == kUpdates) << one.updates;
      EXPECT_LT(one.loss, 1.0);
    }
  }
  void expect_one_devices_numbers(const ToolRun& result, size_t processes,
                                  const std::string& what = "one_device") const {
    const ToolRun alone = run({"launch", "-n", "1", "--", NYALA_TEST_PROGRAMS "/parameter_worker", what});
    const std::vector<Said> expected = said_in(alone.out);
    ASSERT_EQ(expected.size(), 1u) << alone.err;
    expect_trained(result, processes);
    for (const Said& one : said_in(result.out)) {
      EXPECT_NEAR(one.loss, expected[0].loss, 2e-6);
      EXPECT_NEAR(one.weights, expected[0].weights, 2e-4);
    }
  }
};

TEST_F(LaunchParameterServers, WorkersInTurnsGiveOneDevicesNumbers) {
  expect_one_devices_numbers(train("turns", 2, 3), 4);
}

TEST_F(LaunchParameterServers, WorkersTogetherGiveOneDevicesNumbers) {
  expect_one_devices_numbers(train("together", 2, 3), 4);
}

TEST_F(LaunchParameterServers, AKilledWorkerChangesNoNumberOfThoseWhoTrainTogether) {
  const ToolRun result = train("together, kill worker 0", 2, 2);
  EXPECT_THAT(result.err, HasSubstr("worker 0 was ended by SIGKILL"));
  expect_one_devices_numbers(result, 3);
}

TEST_F(LaunchParameterServers, AKilledServerChangesNoNumberOfThoseWhoTrainTogether) {
  const ToolRun result = train("together, kill ps 0", 2, 2, "NYALA_SNAPSHOTS=.");
  EXPECT_THAT(result.err, HasSubstr("ps 0 was ended by SIGKILL"));
  expect_one_devices_numbers(result, 3);
}

/// All batches are done, and those behind the servers' last snapshot are trained once more.
TEST_F(LaunchParameterServers, AServerThatIsKilledBehindTheLastBatchChangesNoNumber) {
  const ToolRun result = train("last, together, kill ps 0", 2, 2, "NYALA_SNAPSHOTS=.");
  EXPECT_THAT(result.err, HasSubstr("ps 0 was ended by SIGKILL"));
  expect_one_devices_numbers(result, 3);
}

/// It dies when its first gradients have changed the servers' values, and the step waits for its second.
TEST_F(LaunchParameterServers, AWorkerThatDiesInTheMiddleOfAStepChangesNoNumber) {
  for (const int workers : {1, 2}) {
    const ToolRun result = train("twice, together, dies", 2, workers);
    EXPECT_THAT(result.err, HasSubstr("worker 0 was ended by SIGKILL"));
    expect_one_devices_numbers(result, 3, "twice, one_device");
  }
}

TEST_F(LaunchParameterServers, ALoopOfAllGivesOneDevicesNumbers) {
  expect_one_devices_numbers(train("loop, together", 2, 2), 3, "loop, one_device");
}

TEST_F(LaunchParameterServers, ALoopEndsWithAProcess) {
  const ToolRun result = train("loop, together, dies", 2, 2);
  EXPECT_EQ(result.status, 4);
  EXPECT_THAT(result.err, ContainsRegex("chief. communication: .*worker 0 is gone"));
  EXPECT_THAT(result.err, ContainsRegex("worker 1. communication: .*worker 0 is gone"));
  const ToolRun again = train("loop, together, dies", 2, 2, "", {"--restarts", "10"});
  expect_one_devices_numbers(again, 3, "loop, one_device");
}

TEST_F(LaunchParameterServers, AKilledChiefIsKnownAtOnceToThoseWhoTrainTogether) {
  const ToolRun result = train("together, kill chief 0", 1, 2);
  EXPECT_EQ(result.status, 128 + 9);
  for (const char* worker : {"worker 0.", "worker 1."})
    EXPECT_THAT(result.err,
                ContainsRegex(std::string(worker) + " lost: .*ParameterServerStrategy: the chief"));
}

// In the first epoch, of which there is no backup, and in the second.
TEST_F(LaunchParameterServers, AChiefThatIsStartedAgainChangesNoNumberOfThoseWhoTrainTogether) {
  for (const char* const what : {"together, kill chief 0", "backup, together, kill chief 0"}) {
    const ToolRun result = train(what, 2, 2, "", {"--restarts", "10"});
    EXPECT_THAT(result.err,
                AllOf(HasSubstr("chief was ended by SIGKILL"), HasSubstr("another chief has come")));
    expect_one_devices_numbers(result, 3);
  }
}

TEST_F(LaunchParameterServers, AChiefThatIsStartedAgainTrainsEachBatchOnce) {
  const ToolRun result = train("backup, kill chief 0", 2, 2, "", {"--restarts", "10"});
  EXPECT_THAT(result.err, HasSubstr("chief was ended by SIGKILL"));
  expect_trained(result, 3);
}

TEST_F(LaunchParameterServers, FreeWorkersTrainEachBatchOnce) { expect_trained(train("free", 2, 2), 3); }

TEST_F(LaunchParameterServers, AKilledWorkerCostsItsBatch) {
  const ToolRun result = train("kill worker 0", 2, 2);
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("worker 0 was ended by SIGKILL"));
  const std::vector<Said> all = said_in(result.out);
  ASSERT_GE(all.size(), 2u) << result.out;  // the one that is started again may come when all is over
  for (const Said& one : all) EXPECT_TRUE(one.updates == -1 || one.updates == kUpdates) << one.updates;
}

TEST_F(LaunchParameterServers, AKilledServerGoesOnFromItsSnapshot) {
  const ToolRun result = train("kill ps 0", 2, 2);
  expect_trained(result, 3);
  EXPECT_THAT(result.err, AllOf(HasSubstr("ps 0 was ended by SIGKILL"), HasSubstr("from its snapshot")));
}

TEST_F(LaunchParameterServers, SnapshotsLieWhereTheyAreToldTo) {
  const std::string folder = (folder_.path() / "new" / "snapshots").string();
  const ToolRun result = train("kill ps 0", 2, 2, "", {"--snapshots", folder});
  expect_trained(result, 3);
  EXPECT_TRUE(std::filesystem::exists(folder + "/ps-0.snapshot"));
  const ToolRun none =
      train("free", 1, 1, "", {"--snapshots", "/proc/none", "--restarts", "0", "--grace", "1"});
  EXPECT_NE(none.status, 0);
  EXPECT_THAT(none.err, HasSubstr("cannot make the folder for snapshots '/proc/none'"));
}

TEST_F(LaunchParameterServers, AServerThatIsAskedToEndWritesASnapshot) {
  const ToolRun result = train("term ps 0", 2, 2);
  expect_trained(result, 3);
  EXPECT_THAT(result.err, AllOf(HasSubstr("ps 0 was ended by SIGTERM"), HasSubstr("from its snapshot")));
}

TEST_F(LaunchParameterServers, TheServeCommandIsAServer) {
  const std::string command =
      "case $TF_CONFIG in *'\"type\":\"ps\"'*) exec " NYALA_BINARY_DIR "/tools/nyala serve;; esac; cd " +
      folder_.path().string() + " && exec " NYALA_TEST_PROGRAMS "/parameter_worker turns";
  expect_one_devices_numbers(
      run({"launch", "--ps", "2", "--workers", "2", "--chief", "--", "sh", "-c", command}), 3);
  EXPECT_THAT(run({"serve"}).err, HasSubstr("this process is no parameter server"));
}

TEST_F(LaunchParameterServers, AKilledServerWithoutSnapshotsIsTheEnd) {
  const auto begin = std::chrono::steady_clock::now();
  const ToolRun result = train("kill ps 0", 2, 2, "-u NYALA_SNAPSHOTS");
  EXPECT_NE(result.status, 0);
  EXPECT_THAT(result.err, HasSubstr("[chief] communication: "));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(25));
}

TEST_F(LaunchParameterServers, AKilledChiefIsKnownAtOnce) {
  const auto begin = std::chrono::steady_clock::now();
  const ToolRun result = train("kill chief 0", 1, 2);
  EXPECT_EQ(result.status, 128 + 9);
  for (const char* worker : {"worker 0.", "worker 1."})
    EXPECT_THAT(result.err,
                ContainsRegex(std::string(worker) + " lost: .*ParameterServerStrategy: the chief"));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(25));
}

TEST_F(LaunchParameterServers, AnErrorOfAWorkersProgramReachesTheOthers) {
  const ToolRun result = train("throw", 1, 2, "", {"--restarts", "0"});
  EXPECT_THAT(result.err, HasSubstr("[worker 0] error: "));
  EXPECT_TRUE(std::regex_search(result.err, std::regex("\\[chief\\] communication: .*the layer has no disk")))
      << result.err;
}

TEST_F(LaunchParameterServers, AnotherProgramInAWorkerIsNamed) {
  const ToolRun result = train("other", 1, 1, "", {"--restarts", "0", "--grace", "1"});
  EXPECT_NE(result.status, 0);
  EXPECT_TRUE(std::regex_search(result.err, std::regex("\\[worker 0\\] communication: .*Adam.*SGD")))
      << result.err;
}

}  // namespace
}  // namespace nyala::launch_parameter_servers_test
