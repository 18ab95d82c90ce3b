#include <nyala/strategies/cluster/hostlist.h>
#include <nyala/tests/support/error_text.h>

namespace nyala {
namespace {

using Names = std::vector<std::string>;

/// As `scontrol show hostnames` of Slurm 22.05 prints them.
TEST(Hostlist, ExpandsAsSlurmDoes) {
  const auto hosts = [](const std::string& text) { return detail::expand_hostlist(text, "LIST"); };
  EXPECT_EQ(hosts("gpu[01-03,7],login1"), (Names{"gpu01", "gpu02", "gpu03", "gpu7", "login1"}));
  EXPECT_EQ(hosts("r[1-2]n[08-09]"), (Names{"r1n08", "r1n09", "r2n08", "r2n09"}));
  EXPECT_EQ(hosts("n[8-11]"), (Names{"n8", "n9", "n10", "n11"}));
  EXPECT_EQ(hosts("n[098-101].a.b"), (Names{"n098.a.b", "n099.a.b", "n100.a.b", "n101.a.b"}));
  EXPECT_EQ(hosts("single-host_1"), (Names{"single-host_1"}));
  EXPECT_EQ(hosts("[1-2],b"), (Names{"1", "2", "b"}));
  EXPECT_EQ(hosts("n[1-65536]").size(), 65536u);
}

TEST(Hostlist, EveryMistakeIsNamed) {
  const auto wrong = [](const std::string& text, const std::string& part) {
    expect_error([&] { detail::expand_hostlist(text, "LIST"); }, {"LIST: expected a list of hosts", part});
  };
  wrong("", "at byte 0: expected a host name");
  wrong("a,", "at byte 2: expected a host name");
  wrong(",a", "at byte 0: expected a host name");
  wrong("a[1", "at byte 3: expected ']'");
  wrong("a[1-2]]", "at byte 6: expected ',' or the end");
  wrong("a[]", "at byte 2: expected a number");
  wrong("a[x]", "at byte 2: expected a number");
  wrong("a[1-]", "at byte 4: expected a number");
  wrong("a[3-1]", "a range goes down");
  wrong("a[1-2,]", "expected a number");
  wrong("a[1234567890]", "more than 9 digits");
  wrong("a[1-65537]", "more than 65536 hosts");
  wrong("a[1-300]b[1-300]", "more than 65536 hosts");
  wrong("a[0-999999999]", "more than 65536 hosts");
  wrong("a b", "at byte 1: no letter of a host name");
  wrong("a[[1]]", "expected a number");
}

TEST(Hostlist, TasksPerNode) {
  const auto tasks = [](const std::string& text) { return detail::expand_tasks_per_node(text, "TASKS"); };
  EXPECT_EQ(tasks("3(x2),2,1"), (std::vector<int>{3, 3, 2, 1}));
  EXPECT_EQ(tasks("4"), (std::vector<int>{4}));
  for (const char* text : {"", "x", "2(", "2(x", "2(x3", "2(3)", "2,", "0", "2(x0)", "2(x99999)", "-1"})
    expect_error([&] { tasks(text); }, {"TASKS: expected tasks of each node such as 2(x3),1", text});
}

}  // namespace
}  // namespace nyala
