#include <nyala/tests/examples/run_example.h>

namespace nyala {
namespace {

TEST(MirroredCustomLoop, GoesOnOnAnotherNumberOfDevices) {
  if (!std::filesystem::exists(example_path("mirrored_custom_loop")))
    GTEST_SKIP() << "mirrored_custom_loop is not built";
  if (!has_fashion_mnist()) GTEST_SKIP() << "Fashion-MNIST is not here";
  const ExampleRun run = run_example("mirrored_custom_loop", "1 3000 500");
  EXPECT_EQ(run.status, 0) << run.output;
  EXPECT_NE(run.output.find("restored on three"), std::string::npos) << run.output;
}

}  // namespace
}  // namespace nyala
