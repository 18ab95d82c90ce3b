// The program of docs/multi_worker.md: two processes learn what one learns.
#include <unistd.h>

#include <nyala/strategies/control/control_transport.h>
#include <nyala/tests/examples/run_example.h>

namespace nyala {
namespace {

TEST(SeveralProcesses, LearnWhatOneLearns) {
  if (!detail::grpc_is_built()) GTEST_SKIP() << "this build has no gRPC";
  const std::string data = "'" NYALA_SOURCE_DIR "/examples/data/houses.csv'";
  const ExampleRun one = run_example("several_processes", data);
  ASSERT_EQ(one.status, 0) << one.output;
  const std::string program = "'" + example_path("several_processes").string() + "' " + data;
  const std::string variables =
      "MASTER_ADDR=127.0.0.1 MASTER_PORT=" + std::to_string(20000 + ::getpid() % 12000);
  const ExampleRun two = run_example(
      "several_processes", data + " & " + variables + " RANK=1 WORLD_SIZE=2 " + program + "; wait $!",
      variables + " RANK=0 WORLD_SIZE=2");
  EXPECT_EQ(two.status, 0) << two.output;
  const double loss = number(one.output, "rank 0 of 1: loss ([0-9.]+)");
  EXPECT_NEAR(number(two.output, "rank 0 of 2: loss ([0-9.]+)"), loss, 1e-3 * loss);
  EXPECT_EQ(number(two.output, "rank 1 of 2: loss ([0-9.]+)"),
            number(two.output, "rank 0 of 2: loss ([0-9.]+)"));
}

}  // namespace
}  // namespace nyala
