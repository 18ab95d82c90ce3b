// Two runs in one folder are one training, on one device and on two.
#include <regex>

#include <nyala/tests/examples/run_example.h>
#include <nyala/tests/support/scratch_folder.h>

namespace nyala {
namespace {

TEST(EstimatorHouses, GoesOnInItsFolder) {
  const ScratchFolder folder("estimator_houses");
  const auto run = [&](const std::string& options) {
    return run_example("estimator_houses", "'" NYALA_SOURCE_DIR "/examples/data/houses.csv' --model-dir '" +
                                               folder.file("houses") + "' " + options);
  };
  const ExampleRun first = run("--steps 100"), second = run("--steps 400 --devices 2");
  EXPECT_EQ(first.status, 0) << first.output;
  EXPECT_EQ(second.status, 0) << second.output;
  EXPECT_NE(first.output.find("begins"), std::string::npos) << first.output;
  EXPECT_NE(second.output.find("goes on from " + folder.file("houses") + "/model.ckpt-100.weights.h5"),
            std::string::npos)
      << second.output;
  std::smatch early, late;
  const std::regex line("step ([0-9]+): mae ([0-9.]+)");
  ASSERT_TRUE(std::regex_search(first.output, early, line)) << first.output;
  ASSERT_TRUE(std::regex_search(second.output, late, line)) << second.output;
  EXPECT_EQ(early[1], "100");
  EXPECT_EQ(late[1], "400");
  EXPECT_LT(std::stod(late[2]), std::stod(early[2]));
}

}  // namespace
}  // namespace nyala
