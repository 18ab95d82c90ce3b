// The README's program under each strategy, and on three processes.
#include <nyala/strategies/control/control_transport.h>
#include <nyala/tests/examples/run_example.h>

namespace nyala {
namespace {

constexpr const char* kLoss = ": loss ([0-9.]+), accuracy";

double loss_of(const ExampleRun& run, const std::string& strategy) {
  EXPECT_EQ(run.status, 0) << run.output;
  return number(run.output, strategy + kLoss);
}

TEST(LenetFashionMnist, LearnsTheSameUnderEachStrategy) {
  if (!has_fashion_mnist()) GTEST_SKIP() << "Fashion-MNIST is not here";
  const std::string rows = "--rows 500";
  const double loss = loss_of(run_example("lenet_fashion_mnist", rows), "two devices");
  for (const std::string strategy : {"one_device", "central_storage", "multi_worker"})
    EXPECT_NEAR(loss_of(run_example("lenet_fashion_mnist", rows + " --strategy " + strategy), strategy), loss,
                1e-3 * loss);
  EXPECT_EQ(run_example("lenet_fashion_mnist", "--strategy two 2>&1").status, 2);
  if (!detail::grpc_is_built()) GTEST_SKIP() << "this build has no gRPC";
  const std::string nyala = NYALA_BINARY_DIR "/tools/nyala";
  if (!std::filesystem::exists(nyala)) GTEST_SKIP() << "this build has no command";
  const ExampleRun three =
      run_example("lenet_fashion_mnist", rows + " --strategy multi_worker", "'" + nyala + "' launch -n 3 --");
  EXPECT_NEAR(loss_of(three, "multi_worker"), loss, 1e-3 * loss);
  EXPECT_EQ(three.output.find("[1] "), std::string::npos) << three.output;
}

TEST(LenetFashionMnist, LearnsInMixedPrecision) {
  if (!has_fashion_mnist()) GTEST_SKIP() << "Fashion-MNIST is not here";
  const double loss = loss_of(run_example("lenet_fashion_mnist", "--rows 500"), "two devices");
  for (const std::string dtype : {"mixed_bfloat16", "mixed_float16"}) {
    const ExampleRun run = run_example("lenet_fashion_mnist", "--rows 500 --dtype " + dtype + " 2>/dev/null");
    EXPECT_NEAR(loss_of(run, "two devices"), loss, 0.05 * loss) << dtype;
    EXPECT_NE(loss_of(run, "two devices"), loss) << dtype;
  }
}

}  // namespace
}  // namespace nyala
