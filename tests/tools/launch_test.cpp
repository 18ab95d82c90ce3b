// `nyala launch` with real processes: shells as ranks.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <regex>
#include <sstream>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/backend/runtime/device_registry.h>
#include <nyala/strategies/cluster/cluster_task.h>
#include <nyala/strategies/control/control_transport.h>
#include <nyala/strategies/cluster/tf_config_cluster_resolver.h>
#include <nyala/tests/tools/launch_fixture.h>

namespace nyala {
namespace {

using testing::HasSubstr;

// What is opened for others must not get the numbers of streams that are closed.
TEST_F(ToolLaunch, ClosedStreamsEndNothingButWhatNeedsThem) {
  const auto status_with = [](const std::string& closed) {
    const int status = std::system(("timeout -s KILL 30 " NYALA_BINARY_DIR
                                    "/tools/nyala launch -n 2 -- sh -c 'echo out; echo err >&2' > /dev/null "
                                    "2> /dev/null " +
                                    closed)
                                       .c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  };
  EXPECT_EQ(status_with(""), 0);
  EXPECT_EQ(status_with(">&-"), 1);
  EXPECT_EQ(status_with("2>&-"), 0);
  EXPECT_EQ(status_with("<&-"), 0);
  EXPECT_EQ(status_with("<&- >&- 2>&-"), 1);
}

TEST_F(ToolLaunch, ALogThatCannotBeWrittenIsToldOf) {
  std::filesystem::create_directory(file("logs"));
  std::filesystem::create_symlink("/dev/full", file("logs/rank-0.out"));
  const ToolRun result = run({"-n", "1", "--logs", file("logs")}, "echo said; echo more");
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(result.out, "[0] said\n[0] more\n");
  EXPECT_THAT(result.err, HasSubstr("[0] cannot write to the log, which ends here: No space left on device"));
}

TEST_F(ToolLaunch, LinesAreWholeAndSayWhoWroteThem) {
  const ToolRun result =
      run({"-n", "3"},
          "i=0; while [ $i -lt 300 ]; do printf 'line '; printf \"$i of \"; echo $NYALA_RANK; "
          "printf 'e%s\\n' $i >&2; i=$((i+1)); done; printf end");
  EXPECT_EQ(result.status, 0) << result.err;
  std::map<std::string, int> next;
  const std::regex line(R"(\[([012])\] line (\d+) of ([012]))");
  int ends = 0;
  std::istringstream out(result.out);
  for (std::string text; std::getline(out, text);) {
    std::smatch match;
    if (std::regex_match(text, match, line)) {
      EXPECT_EQ(match[1], match[3]);
      EXPECT_EQ(std::stoi(match[2]), next[match[1]]++);
    } else {
      EXPECT_TRUE(std::regex_match(text, std::regex(R"(\[[012]\] end)"))) << text;
      ++ends;
    }
  }
  EXPECT_EQ(ends, 3);
  EXPECT_EQ(next, (std::map<std::string, int>{{"0", 300}, {"1", 300}, {"2", 300}}));
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'),
            900 + (detail::grpc_is_built() ? 1 : 0));  // nobody met
  EXPECT_THAT(result.err, HasSubstr("[2] e299\n"));
}

TEST_F(ToolLaunch, RanksFindEachOtherByTheirVariables) {
  const ToolRun result =
      run({"-n", "3"}, "printf %s \"$TF_CONFIG\" > " + file("config$NYALA_RANK") +
                           "; echo $NYALA_WORLD_SIZE $NYALA_LOCAL_RANK $NYALA_LOCAL_WORLD_SIZE "
                           "$NYALA_RESTART_COUNT $OMP_NUM_THREADS > " +
                           file("others$NYALA_RANK"));
  ASSERT_EQ(result.status, 0) << result.err;
  ClusterSpec cluster;
  for (const int rank : {0, 1, 2}) {
    const std::string text = text_of("config" + std::to_string(rank));
    const TFConfigClusterResolver resolver({.environment = {{"TF_CONFIG", text}}});
    if (rank == 0) cluster = resolver.cluster_spec();
    EXPECT_EQ(resolver.cluster_spec(), cluster);
    EXPECT_EQ(worker_count(cluster, {"worker", rank}), 3);
    EXPECT_EQ(id_in_cluster(cluster, {resolver.task_type(), resolver.task_id()}), rank);
    const char* const threads = std::getenv("OMP_NUM_THREADS");
    EXPECT_EQ(text_of("others" + std::to_string(rank)),
              "3 " + std::to_string(rank) + " 3 0 " +
                  (threads ? threads : std::to_string(std::max(1, available_cores() / 3))) + "\n");
  }
}

TEST_F(ToolLaunch, ExitStatusIsThatOfTheFirstFailure) {
  EXPECT_EQ(run({"-n", "2"}, "true").status, 0);
  const ToolRun status = run({"-n", "3", "--grace", "5"}, "[ $NYALA_RANK = 1 ] && exit 7; sleep 0.5; exit 3");
  EXPECT_EQ(status.status, 7);
  EXPECT_THAT(status.err, HasSubstr("nyala launch: rank 1 ended with status 7\n"));
  const ToolRun killed =
      run({"-n", "2", "--grace", "0.1"}, "[ $NYALA_RANK = 0 ] && kill -SEGV $$; sleep 1000");
  EXPECT_EQ(killed.status, 128 + SIGSEGV);
  EXPECT_THAT(killed.err, HasSubstr("nyala launch: rank 0 was ended by SIGSEGV\n"));
  EXPECT_EQ(run({"-n", "2"}, "exit 42").status, 42);
}

TEST_F(ToolLaunch, ProcessesThatNeverMeetAreToldOf) {
  if (!detail::grpc_is_built()) GTEST_SKIP() << "this build has no gRPC";
  const ToolRun result = run({"-n", "2"}, "true");
  EXPECT_EQ(result.status, 0);
  EXPECT_THAT(result.err,
              HasSubstr("none of the 2 processes has come to the control plane: each ran by itself"));
  EXPECT_EQ(run({"-n", "1"}, "true").err, "");
}

TEST_F(ToolLaunch, ARankThatStaysStoppedWhenTheOthersHaveEndedIsEnded) {
  if (!detail::grpc_is_built()) GTEST_SKIP() << "this build has no gRPC";
  const ToolRun result =
      run({"-n", "2", "--rejoin-timeout", "0.5"}, "[ $NYALA_RANK = 1 ] && kill -STOP $$; exit 0");
  EXPECT_EQ(result.status, 128 + SIGKILL);
  EXPECT_THAT(result.err, HasSubstr("rank 1 is frozen (stopped): it has never been at the control plane"));
}

TEST_F(ToolLaunch, AFailureEndsTheOthersAfterTheirGrace) {
  const auto begin = std::chrono::steady_clock::now();
  const ToolRun result = run({"-n", "2", "--grace", "0.5"},
                             "[ $NYALA_RANK = 1 ] && exit 1; trap '' TERM; " + with_child() + "; wait; wait");
  EXPECT_EQ(result.status, 1);
  EXPECT_GT(std::chrono::steady_clock::now() - begin,
            std::chrono::seconds(1));  // before SIGTERM and behind it
  EXPECT_TRUE(all_end(written_ids(2)));
}

TEST_F(ToolLaunch, RanksThatFailAreStartedAgain) {
  const ToolRun result = run({"-n", "2", "--restarts", "3"},
                             "echo start $NYALA_RESTART_COUNT; [ $NYALA_RANK = 1 ] && "
                             "[ $NYALA_RESTART_COUNT -lt 2 ] && kill -9 $$; exit 0");
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("[1] start 2\n"));
  EXPECT_THAT(result.out, testing::Not(HasSubstr("[0] start 1\n")));
  EXPECT_THAT(result.err,
              HasSubstr("rank 1 was ended by SIGKILL; it is started again, 2 more restarts are left"));
  EXPECT_EQ(run({"-n", "1", "--restarts", "1"}, "exit 9").status, 9);
}

TEST_F(ToolLaunch, CtrlCEndsAllAndWhatTheyStarted) {
  for (const int number : {SIGINT, SIGTERM}) {
    std::filesystem::remove(file("pid0"));
    std::filesystem::remove(file("pid1"));
    NyalaProcess launch(folder_.path().string(), shell({"-n", "2"}, with_child()));
    const std::vector<pid_t> ids = written_ids(4);
    launch.send(number);
    const ToolRun result = launch.wait();
    EXPECT_EQ(result.status, 128 + number) << result.err;
    EXPECT_TRUE(all_end(ids));
  }
}

TEST_F(ToolLaunch, ASecondCtrlCWaitsForNobody) {
  NyalaProcess launch(folder_.path().string(), shell({"-n", "2", "--grace", "1000"},
                                                     "trap '' TERM; " + with_child() + "; wait; wait"));
  const std::vector<pid_t> ids = written_ids(4);
  launch.send(SIGINT);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  launch.send(SIGINT);
  EXPECT_EQ(launch.wait().status, 128 + SIGINT);
  EXPECT_TRUE(all_end(ids));
}

TEST_F(ToolLaunch, RanksThatSaveBeforeTheyEndSayIt) {
  NyalaProcess launch(folder_.path().string(),
                      shell({"-n", "2"}, "trap 'exit 42' TERM; echo $$ > " + file("pid$NYALA_RANK") +
                                             "; while true; do sleep 0.05; done"));
  written_ids(2);
  launch.send(SIGTERM);
  EXPECT_EQ(launch.wait().status, 42);
}

TEST_F(ToolLaunch, AKilledLauncherTakesAllAlong) {
  NyalaProcess launch(folder_.path().string(), shell({"-n", "2"}, with_child()));
  const std::vector<pid_t> ids = written_ids(4);
  launch.send(SIGKILL);
  launch.wait();
  EXPECT_TRUE(all_end(ids));
}

TEST_F(ToolLaunch, HostsAreReachedByTheTemplate) {
  const ToolRun result = run({"--hosts", "hosta:2,hostb", "--ssh", fake_ssh(), "--logs", file("logs")},
                             "echo \"rank $NYALA_RANK it's  $NYALA_LOCAL_RANK of $NYALA_LOCAL_WORLD_SIZE\"; "
                             "[ -n \"$OMP_NUM_THREADS\" ] && printf %s \"$TF_CONFIG\" > " +
                                 file("config$NYALA_RANK"));
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("[1] rank 1 it's  1 of 2\n"));
  EXPECT_THAT(result.out, HasSubstr("[2] rank 2 it's  0 of 1\n"));
  EXPECT_THAT(result.err, HasSubstr("[2] via hostb\n"));
  EXPECT_EQ(text_of("logs/rank-2.out"), "rank 2 it's  0 of 1\n");
  EXPECT_EQ(text_of("logs/rank-2.err"), "via hostb\n");
  const TFConfigClusterResolver resolver({.environment = {{"TF_CONFIG", text_of("config2")}}});
  EXPECT_TRUE(resolver.cluster_spec().task_address("worker", 2).starts_with("hostb:"));
  EXPECT_EQ(run({"--hosts", "hosta", "--ssh", fake_ssh()}, "exit 5").status, 5);
}

/// Nothing there belongs to a process of this machine but the standard input of its ssh.
TEST_F(ToolLaunch, RanksOnOtherHostsEndWithTheLauncher) {
  for (const int number : {SIGTERM, SIGKILL}) {
    std::filesystem::remove(file("pid0"));
    NyalaProcess launch(folder_.path().string(),
                        shell({"--hosts", "hosta", "--ssh", fake_ssh(), "--grace", "1"}, with_child()));
    const std::vector<pid_t> ids = written_ids(2);
    launch.send(number);
    launch.wait();
    EXPECT_TRUE(all_end(ids)) << number;
  }
}

TEST_F(ToolLaunch, MistakesAreNamed) {
  const auto error = [&](const Words& options) {
    const ToolRun result = run(options, "true");
    EXPECT_GT(result.status, 0);
    return result.err;
  };
  EXPECT_THAT(error({}), HasSubstr("expected -n, how many processes to start, or --hosts"));
  EXPECT_THAT(error({"-n", "0"}), HasSubstr("error: "));
  EXPECT_THAT(error({"-n", "3", "--hosts", "a:1,b"}),
              HasSubstr("-n: expected at most the 2 places of --hosts"));
  for (const char* hosts : {"a:0", "a:", ",", "a,", "a b", "a:1:2"})
    EXPECT_THAT(error({"--hosts", hosts}), HasSubstr("--hosts: expected hosts and how many processes"))
        << hosts;
  EXPECT_THAT(error({"--hosts", "a,a"}), HasSubstr("--hosts names 'a' twice"));
  EXPECT_THAT(error({"--hosts", "localhost,b"}), HasSubstr("the name by which other hosts reach this one"));
  EXPECT_THAT(error({"--hosts", "a", "--ssh", "ssh {host}"}), HasSubstr("{host} and {command}"));
  EXPECT_THAT(error({"-n", "1", "--logs", "/proc/none"}),
              HasSubstr("cannot make the folder for logs '/proc/none'"));
  const ToolRun none =
      NyalaProcess(folder_.path().string(), {"launch", "-n", "2", "--", "./no-such-program"}).wait();
  EXPECT_EQ(none.status, 1);
  EXPECT_EQ(none.err, "error: launch: cannot run './no-such-program': No such file or directory\n");
}

}  // namespace
}  // namespace nyala
