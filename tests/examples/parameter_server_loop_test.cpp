// A loop of one's own on a cluster of five processes.
#include <nyala/strategies/control/control_transport.h>
#include <nyala/tests/examples/run_example.h>

namespace nyala {
namespace {

TEST(ParameterServerLoop, LearnsOnACluster) {
  const std::string launcher = NYALA_BINARY_DIR "/tools/nyala";
  if (!has_fashion_mnist()) GTEST_SKIP() << "Fashion-MNIST is not here";
  if (!detail::grpc_is_built()) GTEST_SKIP() << "this build has no gRPC";
  if (!std::filesystem::exists(launcher)) GTEST_SKIP() << "this build has no command";
  const ExampleRun run = run_example("parameter_server_loop", "40 1",
                                     "'" + launcher + "' launch --ps 2 --workers 2 --chief --");
  EXPECT_EQ(run.status, 0) << run.output;
  EXPECT_GT(number(run.output, "test accuracy ([0-9.]+)"), 0.5);
  EXPECT_NE(run.output.find(" 40 exchanges applied"), std::string::npos) << run.output;
}

}  // namespace
}  // namespace nyala
