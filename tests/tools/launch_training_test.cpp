// Programs that train under `nyala launch` and other launchers' variables: from the variables to the numbers.
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <regex>

#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/strategies/control/control_transport.h>
#include <nyala/strategies/communicators/gloo_communicator.h>
#include <nyala/tests/tools/tool_test.h>

namespace nyala {
namespace {

using testing::HasSubstr;

class LaunchTraining : public ToolTest {
 protected:
  using Words = std::vector<std::string>;
  using Clock = std::chrono::steady_clock;

  void SetUp() override {
    ToolTest::SetUp();
    if (!detail::grpc_is_built()) GTEST_SKIP() << "this build has no gRPC";
  }
  ToolRun train(Words options, const std::string& what = "train") const {
    options.insert(options.begin(), "launch");
    options.insert(options.end(), {"--", NYALA_TEST_PROGRAMS "/cluster_worker", what});
    return run(options);
  }
  /// "loss 0.123, weights 4.567" of each rank, which all have to say.
  static std::vector<double> numbers_of(const ToolRun& result, int size) {
    EXPECT_EQ(result.status, 0) << result.err;
    std::vector<double> numbers;
    for (int rank = 0; rank < size; ++rank) {
      const std::regex line("rank " + std::to_string(rank) + " of " + std::to_string(size) +
                            ": loss ([0-9.]+), weights ([0-9.]+)");
      std::smatch match;
      EXPECT_TRUE(std::regex_search(result.out, match, line)) << result.out << result.err;
      if (match.empty()) return {};
      for (int part : {1, 2}) numbers.push_back(std::stod(match[static_cast<size_t>(part)]));
    }
    return numbers;
  }
  std::vector<double> alone() const { return numbers_of(train({"-n", "1"}), 1); }
  static void expect_numbers_of_one(const std::vector<double>& received, const std::vector<double>& one) {
    ASSERT_FALSE(received.empty());
    for (size_t i = 0; i < received.size(); ++i) EXPECT_NEAR(received[i], one[i % 2], 2e-4) << i;
  }
};

TEST_F(LaunchTraining, SeveralProcessesGiveTheNumbersOfOne) {
  const std::vector<double> one = alone();
  expect_numbers_of_one(numbers_of(train({"-n", "2"}), 2), one);
  expect_numbers_of_one(numbers_of(train({"-n", "3"}), 3), one);
  if (gloo_is_built()) expect_numbers_of_one(numbers_of(train({"-n", "2"}, "gloo"), 2), one);
}

TEST_F(LaunchTraining, AnErrorOfOneProcessReachesTheOthersWithItsText) {
  const ToolRun result = train({"-n", "3"}, "throw");
  EXPECT_GT(result.status, 0);
  EXPECT_THAT(result.err, HasSubstr("[1] error: the callback has no disk"));
  for (const char* rank : {"0", "2"})
    EXPECT_TRUE(std::regex_search(
        result.err, std::regex("\\[" + std::string(rank) + "\\] communication: .*the callback has no disk")))
        << result.err;
}

TEST_F(LaunchTraining, AKilledProcessIsNamedSoon) {
  const auto begin = Clock::now();
  const ToolRun result = train({"-n", "3"}, "kill");
  EXPECT_EQ(result.status, 128 + 9);
  EXPECT_THAT(result.err, HasSubstr("[0] lost: "));
  EXPECT_THAT(result.err, HasSubstr("[2] lost: "));
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(40));  // the timeout is 60 s
}

TEST_F(LaunchTraining, AProcessThatIsStartedAgainGoesOnWithTheOthers) {
  const std::vector<double> one = alone();
  const ToolRun result = train({"-n", "3", "--restarts", "1"}, "kill");
  EXPECT_THAT(result.err, HasSubstr("rank 1 was ended by SIGKILL; it is started again"));
  expect_numbers_of_one(numbers_of(result, 3), one);
}

TEST_F(LaunchTraining, EnoughProcessesGoOnWithoutOneThatIsLost) {
  const std::vector<double> one = alone();
  const ToolRun result = train({"-n", "3", "--min-workers", "2", "--rejoin-timeout", "1"}, "kill");
  EXPECT_THAT(result.err, HasSubstr("rank 1 was ended by SIGKILL; the others go on without it"));
  expect_numbers_of_one(numbers_of(result, 2), one);
}

TEST_F(LaunchTraining, AnEvaluationIsBegunAgainWithOneThatIsStartedAgainOrWithoutIt) {
  const std::vector<double> one = numbers_of(train({"-n", "1"}, "evaluate"), 1);
  const ToolRun again = train({"-n", "3", "--restarts", "1"}, "evaluate");
  EXPECT_THAT(again.err, HasSubstr("begin evaluate again"));
  expect_numbers_of_one(numbers_of(again, 3), one);
  expect_numbers_of_one(
      numbers_of(train({"-n", "3", "--min-workers", "2", "--rejoin-timeout", "1"}, "evaluate"), 2), one);
}

TEST_F(LaunchTraining, AFrozenProcessIsEndedAndStartedAgain) {
  const std::vector<double> one = alone();
  const ToolRun result = train({"-n", "3", "--restarts", "1", "--rejoin-timeout", "1"}, "freeze");
  EXPECT_THAT(result.err, HasSubstr("rank 1 is frozen, it was not heard of for "));
  EXPECT_THAT(result.err, HasSubstr("rank 1 was ended by SIGKILL; it is started again"));
  expect_numbers_of_one(numbers_of(result, 3), one);
}

/// Of which the control plane has never heard.
TEST_F(LaunchTraining, AProcessThatIsFrozenBeforeItCameIsEnded) {
  const auto freezes = [&](Words options) {
    options.insert(options.begin(), "launch");
    options.insert(options.end(),
                   {"--", "sh", "-c",
                    "[ $NYALA_RANK$NYALA_RESTART_COUNT = 10 ] && kill -STOP $$; exec " NYALA_TEST_PROGRAMS
                    "/cluster_worker train"});
    return run(options);
  };
  const std::string says =
      "nyala launch: rank 1 is frozen (stopped): it has never been at the control plane, in ";
  const std::vector<double> one = alone();
  const ToolRun again = freezes({"-n", "3", "--restarts", "1", "--rejoin-timeout", "1"});
  EXPECT_THAT(again.err, HasSubstr(says));
  EXPECT_THAT(again.err, HasSubstr("rank 1 was ended by SIGKILL; it is started again"));
  expect_numbers_of_one(numbers_of(again, 3), one);
  const ToolRun fewer = freezes({"-n", "3", "--min-workers", "2", "--rejoin-timeout", "1"});
  EXPECT_THAT(fewer.err, HasSubstr(says));
  EXPECT_EQ(fewer.status, 0) << fewer.err;
  const auto begin = Clock::now();
  const ToolRun all = freezes({"-n", "2", "--rejoin-timeout", "1"});
  EXPECT_EQ(all.status, 128 + 9);
  EXPECT_THAT(all.err, HasSubstr(says));
  EXPECT_THAT(all.err, HasSubstr("[0] lost: "));
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(40));  // the timeout is 60 s
}

TEST_F(LaunchTraining, AFrozenProcessThatIsLeftBehindIsEnded) {
  const std::vector<double> one = alone();
  const auto begin = Clock::now();
  const ToolRun result = train({"-n", "3", "--min-workers", "2", "--rejoin-timeout", "1"}, "freeze");
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(60));
  EXPECT_THAT(result.err, HasSubstr("rank 1 is frozen, it was not heard of for "));
  expect_numbers_of_one(numbers_of(result, 2), one);
}

TEST_F(LaunchTraining, ARankThatEndsInTheMiddleIsNamedAtOnce) {
  for (const Words& options : {Words{"-n", "3"}, Words{"-n", "3", "--restarts", "2"}}) {
    const auto begin = Clock::now();
    const ToolRun result = train(options, "exit");
    EXPECT_EQ(result.status, 3);
    for (const char* rank : {"0", "2"})
      EXPECT_TRUE(std::regex_search(result.err, std::regex("\\[" + std::string(rank) + "\\] lost: .*rank 1")))
          << result.err;
    EXPECT_LT(Clock::now() - begin, std::chrono::seconds(30));  // the timeout is 60 s
  }
}

TEST_F(LaunchTraining, NobodyIsStartedAgainWhenTrainingIsOver) {
  const auto begin = Clock::now();
  const ToolRun result = train({"-n", "3", "--restarts", "5"}, "late");
  EXPECT_EQ(result.status, 128 + 9);
  EXPECT_THAT(result.err,
              HasSubstr("rank 1 was ended by SIGKILL; it is not started again, others have ended"));
  EXPECT_EQ(train({"-n", "3", "--restarts", "5", "--min-workers", "1"}, "late").status, 0);
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(40));
}

std::vector<std::string> with(std::vector<std::string> words, const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST_F(LaunchTraining, TheFitCommandWritesOnce) {
  const std::string model = file("model.keras"), history = file("history.json");
  classifier().save(model);
  const std::string x = saved("x.npy", numbers({40, 4}, 1)), y = saved("y.npy", labels(40));
  const Words fit = {"fit",      model, "--input", x,   "--target",  y,
                     "--epochs", "2",   "--seed",  "4", "--verbose", "2"};
  run_well(with(fit, {"--output", file("one.keras"), "--history", file("one.json")}));
  const Words launch = {"launch", "-n", "2", "--", NYALA_BINARY_DIR "/tools/nyala"};
  const ToolRun two = run_well(with(with(launch, fit), {"--strategy", "multi_worker", "--output",
                                                        file("two.keras"), "--history", history}));
  EXPECT_THAT(two.out, HasSubstr("[0] "));
  EXPECT_THAT(two.out, testing::Not(HasSubstr("[1] ")));
  expect_same_weights(load_model(file("two.keras")), load_model(file("one.keras")), 1e-5f);
  EXPECT_TRUE(std::filesystem::exists(history));
  const ToolRun alone = run(with(with(launch, fit), {"--output", file("three.keras")}));
  EXPECT_EQ(alone.status, 1);
  EXPECT_THAT(alone.err,
              HasSubstr("error: fit: this is process 1 of 2 (TF_CONFIG is set): expected --strategy "
                        "multi_worker"));
  EXPECT_FALSE(std::filesystem::exists(file("three.keras")));
  EXPECT_EQ(run(with(with(launch, fit), {"--strategy", "one_device"})).status, 0);
  const std::string one_trusts = NYALA_BINARY_DIR "/tools/nyala fit " + model + " --input " + x +
                                 " --target " + y +
                                 " --strategy multi_worker $([ $NYALA_RANK = 0 ] && echo --trusted-network)";
  EXPECT_THAT(run({"launch", "-n", "2", "--", "sh", "-c", one_trusts}).err,
              HasSubstr("the processes disagree on '--trusted-network': rank 0 on"));
}

TEST_F(LaunchTraining, TheFitCommandTrainsOnParameterServers) {
  const std::string model = file("model.keras");
  classifier().save(model);
  const std::string x = saved("x.npy", numbers({40, 4}, 1)), y = saved("y.npy", labels(40));
  const Words fit = {"fit",      model, "--input", x,   "--target",  y,
                     "--epochs", "2",   "--seed",  "4", "--verbose", "2"};
  run_well(with(fit, {"--output", file("one.keras")}));
  const Words launch = {"launch", "--ps",    "2",  "--workers",
                        "2",      "--chief", "--", NYALA_BINARY_DIR "/tools/nyala"};
  const Words by_servers = with(with(launch, fit), {"--strategy", "parameter_server"});
  for (const Words& mode : {Words{"--synchronous"}, Words{"--staleness", "0"}}) {
    const ToolRun result = run_well(with(
        with(by_servers, mode), {"--output", file("by_servers.keras"), "--history", file("history.json")}));
    EXPECT_THAT(result.out, HasSubstr("[chief] "));
    EXPECT_THAT(result.out, testing::Not(HasSubstr("[worker ")));
    expect_same_weights(load_model(file("by_servers.keras")), load_model(file("one.keras")), 1e-5f);
    EXPECT_TRUE(std::filesystem::remove(file("history.json")));
    EXPECT_TRUE(std::filesystem::remove(file("by_servers.keras")));
  }
  run_well(with(by_servers, {"--output", file("free.keras")}));
  EXPECT_TRUE(std::filesystem::exists(file("free.keras")));
  EXPECT_THAT(run(with(fit, {"--synchronous"})).err, HasSubstr("go with --strategy parameter_server"));
}

TEST_F(LaunchTraining, TheVariablesOfOtherLaunchersWork) {
  const std::vector<double> one = alone();
  const std::string port = std::to_string(20000 + ::getpid() % 12000), address = "127.0.0.1:" + port;
  const std::string tf_config = "TF_CONFIG='{\"cluster\":{\"worker\":[\"" + address +
                                "\",\"127.0.0.1:1\"]},\"task\":{\"type\":\"worker\",\"index\":'$i'}}'";
  const std::string torchrun = "RANK=$i WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=" + port;
  const std::string mpi =
      "OMPI_COMM_WORLD_RANK=$i OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_LOCAL_SIZE=2 "
      "OMPI_COMM_WORLD_LOCAL_RANK=$i PMIX_NAMESPACE=job" +
      port;
  const std::string slurm = "SLURM_STEP_ID=0 SLURM_JOB_ID=" + port +
                            " SLURM_PROCID=$i SLURM_STEP_NUM_TASKS=2 "
                            "SLURM_STEP_NODELIST=localhost SLURM_STEP_TASKS_PER_NODE=2";
  for (const std::string& variables : {tf_config, torchrun, mpi, slurm}) {
    const std::string command =
        "for i in 0 1; do env " + variables + " " NYALA_TEST_PROGRAMS "/cluster_worker train & done; wait";
    // The shell is one rank of a launch, whose variables it takes away.
    const ToolRun result = run({"launch", "-n", "1", "--", "sh", "-c",
                                "unset TF_CONFIG NYALA_COORDINATOR NYALA_TOKEN NYALA_REJOIN; " + command});
    SCOPED_TRACE(variables);
    expect_numbers_of_one(numbers_of(result, 2), one);
  }
}

}  // namespace
}  // namespace nyala
