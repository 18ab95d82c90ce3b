// ClusterCoordinator under `nyala launch`: functions of the workers, and what becomes of them when processes
// are killed.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/strategies/control/control_transport.h>
#include <nyala/tests/tools/tool_test.h>

namespace nyala::launch_functions_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class LaunchFunctions : public ToolTest {
 protected:
  void SetUp() override {
    ToolTest::SetUp();
    if (!detail::grpc_is_built()) GTEST_SKIP() << "this build has no gRPC";
  }
  /// Two servers and two workers in the test's folder, where the processes leave their numbers.
  ToolRun launch(const std::string& what, const std::string& restarts = "10") const {
    const std::string command =
        "cd " + folder_.path().string() + " && exec " NYALA_TEST_PROGRAMS "/function_worker " + what;
    return run({"launch", "--ps", "2", "--workers", "2", "--chief", "--restarts", restarts, "--grace", "2",
                "--", "sh", "-c", command});
  }
};

TEST_F(LaunchFunctions, TheMeanOfARangeInShards) {
  const ToolRun result = launch("mean");
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("[chief] 1 of 1 means are 511.5"));
  EXPECT_THAT(result.err, Not(HasSubstr("error")));
}

// By hand 20 times and more: NYALA_KILLS=20.
TEST_F(LaunchFunctions, TheMeanIsRightWhateverWorkersAreKilled) {
  const char* const wanted = std::getenv("NYALA_KILLS");
  const std::string kills = wanted ? wanted : "4";
  const ToolRun result = launch("mean " + kills, "100");
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr(" means are 511.5, " + kills + " killed"));
  EXPECT_THAT(result.err, HasSubstr("worker 0 was ended by SIGKILL"));
}

TEST_F(LaunchFunctions, ALoopOfOnesOwnTrains) {
  const ToolRun result = launch("train");
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("[chief] 60 updates"));
}

TEST_F(LaunchFunctions, AKilledWorkersFunctionCountsOnce) {
  const ToolRun result = launch("train 'worker 0'");
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("worker 0 was ended by SIGKILL"));
  EXPECT_THAT(result.out, HasSubstr("[chief] 60 updates"));
}

TEST_F(LaunchFunctions, WhatAKilledServerHasLostIsDoneAgain) {
  const ToolRun result = launch("train 'ps 1'");
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.err, AllOf(HasSubstr("ps 1 was ended by SIGKILL"), HasSubstr("carried out once more")));
  EXPECT_THAT(result.out, HasSubstr("[chief] 60 updates"));
}

TEST_F(LaunchFunctions, TheFirstErrorReachesTheChief) {
  const ToolRun result = launch("throw", "0");
  EXPECT_EQ(result.status, 5);
  EXPECT_THAT(result.err, HasSubstr("[chief] error: function 'fail' on worker "));
  EXPECT_THAT(result.err, HasSubstr("expected (2,)"));
}

}  // namespace
}  // namespace nyala::launch_functions_test
