// `nyala launch --ps N --workers M` with shells as tasks.
#include <chrono>
#include <csignal>
#include <fstream>
#include <set>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/strategies/cluster/address.h>
#include <nyala/strategies/cluster/choose_cluster_resolver.h>
#include <nyala/strategies/cluster/cluster_task.h>
#include <nyala/strategies/control/control_transport.h>
#include <nyala/tests/tools/launch_fixture.h>

namespace nyala::launch_servers_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using testing::HasSubstr;
using testing::Not;

class ToolLaunchServers : public ToolLaunch {
 protected:
  /// A task's script: `$t` is "chief0", "worker1", "ps0"; one branch for each job.
  struct Tasks {
    std::string chief = "exit 0";
    std::string worker = "exit 0";
    std::string ps = kServes;
    std::string all = ":";
  };
  /// Until it is told to end.
  static constexpr const char* kServes = "while :; do sleep 0.02; done";

  std::string script(const Tasks& tasks) const {
    constexpr const char* kWho =
        R"(part() { printf %s "$TF_CONFIG" | sed 's/.*"'"$1"'": *"*\([a-z0-9]*\).*/\1/'; }; )"
        "t=$(part type)$(part index); cd ";
    return kWho + folder_.path().string() + "; " + tasks.all + "; case $t in chief*) " + tasks.chief +
           ";; worker*) " + tasks.worker + ";; ps*) " + tasks.ps + ";; esac";
  }
  ToolRun run_tasks(const Words& options, const Tasks& tasks) const { return run(options, script(tasks)); }
  NyalaProcess start_tasks(const Words& options, const Tasks& tasks) const {
    return NyalaProcess(folder_.path().string(), shell(options, script(tasks)));
  }
  /// Waits for a file in a script.
  static std::string await(const std::string& name) {
    return "while [ ! -e " + name + " ]; do sleep 0.02; done";
  }
};

TEST_F(ToolLaunchServers, EachTaskIsToldItsPlaceInTheCluster) {
  const ToolRun result =
      run_tasks({"--ps", "2", "--workers", "3", "--chief"},
                {.chief = await("set") + "; while [ $(ls config-* | wc -l) -lt 6 ]; do sleep 0.02; done",
                 .all = "printf %s \"$TF_CONFIG\" > part-$t; echo I am $t; "
                        "echo $NYALA_TOKEN >> tokens; echo $t e >&2; "
                        "env | grep -E '^NYALA_(COORDINATOR|REJOIN|RANK|WORLD_SIZE|LOCAL_)' >> others; "
                        "mv part-$t config-$t; touch set"});  // last: the job ends when all have it
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(text_of("others"), "");
  ClusterSpec cluster;
  std::set<int> ports;
  for (const auto& [job, count] : {std::pair("chief", 1), std::pair("worker", 3), std::pair("ps", 2)})
    for (int index = 0; index < count; ++index) {
      const std::string name = job + std::to_string(index);
      const auto [resolver, reason] =
          choose_cluster_resolver({}, Environment{{"TF_CONFIG", text_of("config-" + name)}});
      EXPECT_EQ(reason, "TF_CONFIG is set");
      EXPECT_EQ(resolver->task_type(), job);
      EXPECT_EQ(resolver->task_id(), index);
      if (ports.empty()) cluster = resolver->cluster_spec();
      EXPECT_EQ(resolver->cluster_spec(), cluster);
      const auto address = detail::parse_address(cluster.task_address(job, index));
      ASSERT_TRUE(address);
      EXPECT_EQ(address->host, "127.0.0.1");
      EXPECT_TRUE(ports.insert(address->port).second);
      EXPECT_EQ(is_chief(*resolver), name == "chief0");
      const std::string prefix =
          name == "chief0" ? "[chief] " : "[" + std::string(job) + " " + std::to_string(index) + "] ";
      EXPECT_THAT(result.out, HasSubstr(prefix + "I am " + name + "\n"));
      EXPECT_THAT(result.err, HasSubstr(prefix + name + " e\n"));
    }
  EXPECT_EQ(cluster.num_tasks("ps"), 2);
  EXPECT_EQ(coordination_leader(cluster), (ClusterTask{"ps", 0}));
  if (!detail::grpc_is_built()) return;
  std::istringstream tokens(text_of("tokens"));
  std::set<std::string> drawn;
  for (std::string token; std::getline(tokens, token);) drawn.insert(token);
  EXPECT_EQ(drawn.size(), 1u);
  EXPECT_GT(drawn.begin()->size(), 10u);
}

/// The servers last, when nobody needs them any more.
TEST_F(ToolLaunchServers, TheJobEndsWithTheChief) {
  for (const int status : {0, 7}) {
    const ToolRun result =
        run_tasks({"--ps", "2", "--workers", "2", "--chief", "--logs", file("logs")},
                  {.chief = "sleep 0.2; exit " + std::to_string(status),
                   .worker = "sleep 0.5; touch over-$t; exit 0",
                   .ps = "trap 'ls over-worker0 over-worker1; exit 0' TERM; " + std::string(kServes)});
    EXPECT_EQ(result.status, status) << result.err;
    for (const char* server : {"0", "1"}) {
      const std::string prefix = "[ps " + std::string(server) + "] over-worker";
      EXPECT_THAT(result.out, HasSubstr(prefix + "0\n" + prefix + "1\n"));
      EXPECT_EQ(text_of("logs/ps-" + std::string(server) + ".out"), "over-worker0\nover-worker1\n");
    }
    if (status == 0)
      EXPECT_THAT(result.err, Not(HasSubstr("nyala launch")));
    else
      EXPECT_THAT(result.err, HasSubstr("nyala launch: chief ended with status 7\n"));
    for (const char* name : {"over-worker0", "over-worker1"}) std::filesystem::remove(file(name));
  }
  EXPECT_TRUE(std::filesystem::exists(file("logs/chief.out")));
  EXPECT_TRUE(std::filesystem::exists(file("logs/worker-1.err")));
}

TEST_F(ToolLaunchServers, WithoutAChiefItEndsWithTheWorkers) {
  const ToolRun good =
      run_tasks({"--ps", "1", "--workers", "2"}, {.worker = "[ $t = worker1 ] && sleep 0.4; exit 0"});
  EXPECT_EQ(good.status, 0) << good.err;
  EXPECT_EQ(good.err, "");
  const ToolRun bad = run_tasks({"--ps", "1", "--workers", "2", "--restarts", "0"},
                                {.worker = "[ $t = worker0 ] && exit 5; sleep 0.4; exit 0"});
  EXPECT_EQ(bad.status, 5);
  EXPECT_EQ(bad.err, "nyala launch: worker 0 ended with status 5; the others go on without it\n");
}

TEST_F(ToolLaunchServers, TasksThatDieAreStartedAgainInTheirPlace) {
  const ToolRun result = run_tasks(
      {"--ps", "1", "--workers", "2", "--chief"},
      {.chief = await("ps0-1") + "; " + await("worker1-1"),
       .worker = "[ $t$NYALA_RESTART_COUNT = worker10 ] && kill -9 $$; touch $t-$NYALA_RESTART_COUNT; exit 0",
       .ps = "[ $NYALA_RESTART_COUNT = 0 ] && exit 3; touch $t-$NYALA_RESTART_COUNT; " + std::string(kServes),
       .all = "printf %s \"$TF_CONFIG\" > config-$t-$NYALA_RESTART_COUNT"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("ps 0 ended with status 3; it is started again, "));
  EXPECT_THAT(result.err, HasSubstr("worker 1 was ended by SIGKILL; it is started again, "));
  EXPECT_THAT(result.err, HasSubstr(" 8 more restarts are left\n"));  // of 10
  EXPECT_EQ(text_of("config-ps0-0"), text_of("config-ps0-1"));
  EXPECT_EQ(text_of("config-worker1-0"), text_of("config-worker1-1"));
  EXPECT_FALSE(text_of("config-ps0-0").empty());
}

TEST_F(ToolLaunchServers, AChiefIsStartedAgainWhereTheCommandSaysSo) {
  const Tasks tasks = {.chief = "[ $NYALA_RESTART_COUNT = 0 ] && kill -9 $$; exit 0", .worker = kServes};
  const ToolRun ended = run_tasks({"--ps", "1", "--workers", "1", "--chief", "--grace", "0.2"}, tasks);
  EXPECT_EQ(ended.status, 128 + SIGKILL);
  EXPECT_EQ(ended.err, "nyala launch: chief was ended by SIGKILL\n");
  const ToolRun again =
      run_tasks({"--ps", "1", "--workers", "1", "--chief", "--grace", "0.2", "--restarts", "1"}, tasks);
  EXPECT_EQ(again.status, 0) << again.err;
  EXPECT_EQ(again.err,
            "nyala launch: chief was ended by SIGKILL; it is started again, 0 more restarts are left\n");
}

// A chief that fails ends its servers, and the next one needs some.
TEST_F(ToolLaunchServers, TheNextChiefHasServersAndWorkers) {
  const std::string once = "[ $NYALA_RESTART_COUNT = 0 ] && exit 0; ";
  const ToolRun result =
      run_tasks({"--ps", "1", "--workers", "1", "--chief", "--restarts", "1", "--grace", "1"},
                {.chief = "[ $NYALA_RESTART_COUNT = 0 ] && { sleep 0.3; exit 3; }; " + await("ps0-1") + "; " +
                          await("worker0-1"),
                 .worker = once + "touch $t-$NYALA_RESTART_COUNT; " + std::string(kServes),
                 .ps = once + "touch $t-$NYALA_RESTART_COUNT; " + std::string(kServes)});
  EXPECT_EQ(result.status, 0) << result.err;
}

TEST_F(ToolLaunchServers, WhereNoRestartIsLeftWorkersMayBeMissingAndServersNot) {
  const Words options = {"--ps", "1", "--workers", "2", "--chief", "--restarts", "0", "--grace", "0.3"};
  const ToolRun one =
      run_tasks(options, {.chief = "sleep 0.5; exit 0", .worker = "[ $t = worker0 ] && exit 5; sleep 0.7"});
  EXPECT_EQ(one.status, 0);
  EXPECT_THAT(one.err, HasSubstr("worker 0 ended with status 5; the others go on without it\n"));
  const ToolRun all = run_tasks(options, {.chief = kServes, .worker = "exit 5"});
  EXPECT_EQ(all.status, 5);
  EXPECT_THAT(all.err, HasSubstr("ended with status 5, the last worker\n"));
  const ToolRun server = run_tasks(options, {.chief = kServes, .worker = kServes, .ps = "exit 6"});
  EXPECT_EQ(server.status, 6);
  EXPECT_EQ(server.err, "nyala launch: ps 0 ended with status 6\n");
  const ToolRun told =
      run_tasks(options, {.chief = await("none") + " & trap 'exit 9' TERM; wait", .ps = "exit 6"});
  EXPECT_EQ(told.status, 9);  // the chief has the last word
}

TEST_F(ToolLaunchServers, WhoDoesNotEndIsKilled) {
  const auto begin = steady_clock::now();
  const ToolRun result = run_tasks({"--ps", "1", "--workers", "1", "--chief", "--grace", "0.3"},
                                   {.worker = "trap '' TERM; " + std::string(kServes),
                                    .ps = "trap '' TERM; " + std::string(kServes),
                                    .all = "echo $$ > pid$t"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_GT(steady_clock::now() - begin, milliseconds(900));  // worker: end of chief and TERM; server: TERM
  EXPECT_TRUE(all_end(written_ids(3)));
}

TEST_F(ToolLaunchServers, CtrlCEndsAllTheServersLast) {
  for (const int number : {SIGINT, SIGTERM}) {
    for (const char* name : {"saved", "pidchief0", "pidworker0", "pidps0"})
      std::filesystem::remove(file(name));
    NyalaProcess launch =
        start_tasks({"--ps", "1", "--workers", "1", "--chief"},
                    {.chief = "trap 'sleep 0.3; touch saved; exit 0' TERM; " + std::string(kServes),
                     .worker = kServes,
                     .ps = "trap 'ls saved; exit 0' TERM; " + std::string(kServes),
                     .all = "sleep 1000 & echo $! $$ > pid$t"});
    const std::vector<pid_t> ids = written_ids(6);
    std::this_thread::sleep_for(milliseconds(100));  // for the traps
    launch.send(number);
    const ToolRun result = launch.wait();
    EXPECT_EQ(result.status, 128 + number) << result.err;
    EXPECT_THAT(result.err, HasSubstr(": ending all tasks\n"));
    EXPECT_THAT(result.out, HasSubstr("[ps 0] saved\n"));
    EXPECT_TRUE(all_end(ids));
  }
}

TEST_F(ToolLaunchServers, ASecondCtrlCWaitsForNobody) {
  NyalaProcess launch = start_tasks({"--ps", "1", "--workers", "1", "--chief", "--grace", "1000"},
                                    {.all = "trap '' TERM; echo $$ > pid$t; " + std::string(kServes)});
  const std::vector<pid_t> ids = written_ids(3);
  launch.send(SIGINT);
  std::this_thread::sleep_for(milliseconds(100));
  launch.send(SIGINT);
  EXPECT_EQ(launch.wait().status, 128 + SIGINT);
  EXPECT_TRUE(all_end(ids));
}

/// Nobody but servers is left when the signal comes: those who are to be started again never end.
TEST_F(ToolLaunchServers, CtrlCWhileTasksWaitToBeStartedAgain) {
  NyalaProcess launch = start_tasks({"--ps", "1", "--workers", "1"}, {.worker = "touch gone; exit 1"});
  ASSERT_TRUE(becomes([&] { return std::filesystem::exists(file("gone")); }));
  std::this_thread::sleep_for(milliseconds(200));
  launch.send(SIGINT);
  EXPECT_EQ(launch.wait().status, 128 + SIGINT);
}

TEST_F(ToolLaunchServers, AKilledLauncherTakesAllAlong) {
  NyalaProcess launch = start_tasks({"--ps", "1", "--workers", "1", "--chief"},
                                    {.ps = "echo $NYALA_SNAPSHOTS > written; mv written folder; wait",
                                     .all = "sleep 1000 & echo $! $$ > pid$t; [ $t = ps0 ] || wait"});
  const std::vector<pid_t> ids = written_ids(6);
  std::string snapshots;
  ASSERT_TRUE(becomes([&] { return static_cast<bool>(std::ifstream(file("folder")) >> snapshots); }));
  EXPECT_TRUE(std::filesystem::exists(snapshots));
  launch.send(SIGKILL);
  launch.wait();
  EXPECT_TRUE(all_end(ids));
  EXPECT_TRUE(becomes([&] { return !std::filesystem::exists(snapshots); }));
}

TEST_F(ToolLaunchServers, MistakesAreNamed) {
  const auto error = [&](const Words& options) {
    const ToolRun result = run(options, "true");
    EXPECT_GT(result.status, 0);
    return result.err;
  };
  EXPECT_THAT(error({"--ps", "1"}), HasSubstr("--ps requires --workers"));
  EXPECT_THAT(error({"--workers", "1"}), HasSubstr("--workers requires --ps"));
  EXPECT_THAT(error({"--chief", "-n", "2"}), HasSubstr("--chief requires --ps"));
  EXPECT_THAT(error({"--ps", "1", "--workers", "0"}), HasSubstr("--workers: "));
  EXPECT_THAT(error({"--ps", "1", "--workers", "1", "-n", "2"}), HasSubstr("--processes excludes --ps"));
  EXPECT_THAT(error({"--ps", "1", "--workers", "1", "--hosts", "a"}), HasSubstr("--hosts excludes --ps"));
  EXPECT_THAT(error({"--ps", "1", "--workers", "1", "--min-workers", "1"}),
              HasSubstr("--min-workers excludes --ps"));
  EXPECT_THAT(error({}), HasSubstr("or --ps and --workers"));
}

}  // namespace
}  // namespace nyala::launch_servers_test
