#include <nyala/strategies/cluster/cluster_spec.h>

#include <nyala/strategies/cluster/address.h>
#include <nyala/strategies/cluster/cluster_task.h>
#include <nyala/tests/support/error_text.h>

namespace nyala {
namespace {

/// The answers of TensorFlow 2.21 for the same clusters.
TEST(ClusterSpec, PrintsAsTensorFlowDoes) {
  const auto spec = ClusterSpec::sparse({{"worker", {{0, "a:1"}, {1, "b:2"}}}, {"ps", {{1, "c:3"}}}});
  EXPECT_EQ(spec.to_string(), "ClusterSpec({'ps': {1: 'c:3'}, 'worker': ['a:1', 'b:2']})");
  EXPECT_EQ(ClusterSpec().to_string(), "ClusterSpec({})");
}

TEST(ClusterSpec, AnswersByJobAndIndex) {
  const ClusterSpec spec({{"worker", {"a:1", "b:2"}}, {"ps", {"c:3"}}});
  EXPECT_EQ(spec.jobs(), (std::vector<std::string>{"ps", "worker"}));
  EXPECT_EQ(spec.num_tasks("worker"), 2);
  EXPECT_EQ(spec.task_indices("worker"), (std::vector<int>{0, 1}));
  EXPECT_EQ(spec.task_address("worker", 1), "b:2");
  EXPECT_EQ(spec.job_tasks("worker"), (std::vector<std::string>{"a:1", "b:2"}));
  EXPECT_EQ(ClusterSpec::sparse({{"worker", {{2, "c:3"}}}}).job_tasks("worker"),
            (std::vector<std::string>{"", "", "c:3"}));
  EXPECT_EQ(spec, ClusterSpec({{"ps", {"c:3"}}, {"worker", {"a:1", "b:2"}}}));
  EXPECT_FALSE(spec == ClusterSpec());
}

TEST(ClusterSpec, NamesJobsAndTasksThatAreNotThere) {
  const ClusterSpec spec({{"worker", {"a:1", "b:2"}}});
  expect_error<NotFoundError>([&] { spec.num_tasks("wroker"); },
                              {"'wroker'", "there are 'worker'", "did you mean 'worker'"});
  expect_error<NotFoundError>([&] { spec.task_address("worker", 2); },
                              {"'worker' has no task 2", "it has 2, the last one is 1"});
  expect_error<NotFoundError>([&] { ClusterSpec().job_tasks("worker"); }, {"the cluster is empty"});
  expect_error([] { ClusterSpec::sparse({{"worker", {{-1, "a:1"}}}}); }, {"indices from 0, received -1"});
  expect_error(
      [] {
        ClusterSpec::sparse({{"worker", {{2'000'000'000, "a:1"}}}}).job_tasks("worker");
      },
      {"too large for a list"});
}

/// Chief first, then workers; the answers of TensorFlow's multi_worker_util.
TEST(ClusterTask, RanksAreTensorFlows) {
  const ClusterSpec spec({{"chief", {"c:1"}}, {"worker", {"a:1", "b:1"}}, {"evaluator", {"e:1"}}});
  EXPECT_EQ(worker_count(spec, {"worker", 1}), 3);
  EXPECT_EQ(worker_count(spec, {"evaluator", 0}), 1);
  EXPECT_EQ(id_in_cluster(spec, {"chief", 0}), 0);
  EXPECT_EQ(id_in_cluster(spec, {"worker", 0}), 1);
  EXPECT_EQ(id_in_cluster(spec, {"worker", 1}), 2);
  EXPECT_EQ(id_in_cluster(spec, {"evaluator", 0}), 0);
  EXPECT_TRUE(is_chief(spec, {"chief", 0}));
  EXPECT_TRUE(is_chief(spec, {"evaluator", 0}));
  EXPECT_FALSE(is_chief(spec, {"worker", 0}));
  EXPECT_EQ(coordination_leader(spec), (ClusterTask{"chief", 0}));

  const ClusterSpec workers({{"worker", {"a:1", "b:1"}}});
  EXPECT_TRUE(is_chief(workers, {"worker", 0}));
  EXPECT_FALSE(is_chief(workers, {"worker", 1}));
  EXPECT_EQ(id_in_cluster(workers, {"worker", 1}), 1);
  EXPECT_EQ(coordination_leader(workers), (ClusterTask{"worker", 0}));
  const ClusterSpec servers({{"worker", {"a:1"}}, {"chief", {"c:1"}}, {"ps", {"p:1"}}});
  EXPECT_EQ(coordination_leader(servers), (ClusterTask{"ps", 0}));
  expect_error([&] { id_in_cluster(servers, {"ps", 0}); }, {"'ps' has no rank"});

  EXPECT_EQ(worker_count({}, {"", -1}), 1);
  EXPECT_EQ(id_in_cluster({}, {"", -1}), 0);
  EXPECT_TRUE(is_chief({}, {"", -1}));
}

TEST(ClusterTask, EveryMistakeIsNamed) {
  const auto check = [](const ClusterSpec& spec, const ClusterTask& task,
                        const std::vector<std::string>& parts) {
    expect_error([&] { check_cluster(spec, task, "here"); }, parts);
  };
  const ClusterSpec two({{"worker", {"a:1", "b:1"}}});
  check_cluster(two, {"worker", 1}, "here");
  check_cluster(two, {"evaluator", 7}, "here");
  check_cluster({}, {"", -1}, "here");
  check(two, {"worker", 2},
        {"here: index of this task: expected 0 to 1 (job 'worker' has 2 tasks), received 2"});
  check(two, {"worker", -1}, {"received -1"});
  check(two, {"chief", 0},
        {"here: type of this task: expected a job of the cluster ('worker'), received 'chief'"});
  check(two, {"wroker", 0},
        {"type of this task: expected one of 'chief', 'worker'", "did you mean 'worker'"});
  check(ClusterSpec({{"wrkers", {"a:1"}}, {"worker", {"b:1"}}}), {"worker", 0},
        {"job in the cluster", "'wrkers'"});
  check(ClusterSpec({{"worker", {}}}), {"worker", 0}, {"job 'worker': expected at least one address"});
  check(ClusterSpec({{"chief", {"a:1", "b:1"}}}), {"chief", 0},
        {"job 'chief': expected one address, received 2"});
  check(ClusterSpec({{"worker", {"c:1"}}, {"evaluator", {"a:1", "b:1"}}}), {"worker", 0},
        {"job 'evaluator'"});
  check(ClusterSpec::sparse({{"worker", {{0, "a:1"}, {2, "b:1"}}}}), {"worker", 0},
        {"indices 0 to 1", "index 2 is the last"});
  check(ClusterSpec({{"worker", {"a:1", "a:1"}}}), {"worker", 0},
        {"address of worker 1: expected one that no other task has, received 'a:1', which is that of worker "
         "0"});
  check(ClusterSpec({{"evaluator", {"a:1"}}}), {"evaluator", 0}, {"a cluster with workers"});
  check(ClusterSpec({{"worker", {"", "b:1"}}}), {"worker", 0}, {"address of worker 0", "received ''"});
  check_cluster(ClusterSpec({{"worker", {"a:1", "", ""}}}), {"worker", 2}, "here");
  for (const char* address : {"a", "a:", ":1", "a:0", "a:65536", "a:x", "a:1 ", "http://a:1", "a b:1",
                              "::1:80", "[::1]", "[a]:1", "-a:1", "a:+1"})
    check(ClusterSpec({{"worker", {address}}}), {"worker", 0},
          {"address of worker 0: expected an address host:port", std::string("'") + address + "'"});
}

TEST(ClusterAddress, HasHostAndPort) {
  const auto six = detail::parse_address("[fe80::1]:22");
  ASSERT_TRUE(six);
  EXPECT_EQ(six->host, "fe80::1");
  EXPECT_EQ(six->port, 22);
  EXPECT_EQ(six->text(), "[fe80::1]:22");
  EXPECT_EQ(detail::parse_address("worker-0.jobs_x.svc:65535")->text(), "worker-0.jobs_x.svc:65535");
  for (const char* host : {"localhost", "127.0.0.1", "127.0.1.1", "::1"})
    EXPECT_TRUE(detail::is_loopback_host(host));
  for (const char* host : {"10.0.0.1", "127.evil.example", "localhost.example", ""})
    EXPECT_FALSE(detail::is_loopback_host(host));
}

}  // namespace
}  // namespace nyala
