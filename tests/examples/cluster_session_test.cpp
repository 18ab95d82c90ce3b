// A cluster in one program: what two workers learn by two servers.
#include <nyala/strategies/control/control_transport.h>
#include <nyala/tests/examples/run_example.h>

namespace nyala {
namespace {

TEST(ClusterSession, ConnectsAndFits) {
  if (!detail::grpc_is_built()) GTEST_SKIP() << "this build has no gRPC";
  const ExampleRun session =
      run_example("cluster_session", "'" NYALA_SOURCE_DIR "/examples/data/houses.csv'");
  ASSERT_EQ(session.status, 0) << session.output;
  EXPECT_NE(session.output.find("ClusterSpec({'chief': ['127.0.0.1:"), std::string::npos) << session.output;
  EXPECT_NE(session.output.find("parameter server 1: "), std::string::npos) << session.output;
  const ExampleRun one =
      run_example("several_processes", "'" NYALA_SOURCE_DIR "/examples/data/houses.csv'");
  const double expected = number(one.output, "rank 0 of 1: loss ([0-9.]+)");
  EXPECT_LT(number(session.output, "loss ([0-9.]+)"), 2 * expected + 0.1) << one.output;
}

}  // namespace
}  // namespace nyala
