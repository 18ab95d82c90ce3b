// The examples of models that are cut and joined, as programs.
#include <cstdlib>
#include <regex>

#include <nyala/tests/support/scratch_folder.h>
#include <nyala/tests/examples/run_example.h>

namespace nyala {
namespace {

class CutModels : public ::testing::Test {
 protected:
  static double number(const std::string& text, const std::string& pattern) {
    std::smatch found;
    if (std::regex_search(text, found, std::regex(pattern))) return std::stod(found[1]);
    ADD_FAILURE() << "expected " << pattern << " in\n" << text;
    return 0;
  }
  static std::filesystem::path data() {
    const char* chosen = std::getenv("NYALA_TEST_DATA");
    return chosen ? chosen : NYALA_TEST_DATA;
  }
  const ScratchFolder folder_{"cut_models"};
};

TEST_F(CutModels, FeaturesAndTheRest) {
  const ExampleRun run = run_example("cut_features", "--output '" + folder_.file("features.keras") + "'");
  EXPECT_EQ(run.status, 0) << run.output;
  EXPECT_LT(number(run.output, "cut in two it differs by ([0-9.e+-]+)"), 1e-4);
  EXPECT_EQ(number(run.output, "from its file it differs by ([0-9.e+-]+)"), 0);
}

TEST_F(CutModels, TheUNetLearnsOnTwoDevicesAsOnOne) {
  const std::string arguments = "--samples 32 --epochs 2 --devices ";
  const ExampleRun two = run_example("unet_mobilenet_v2_encoder", arguments + "2");
  const ExampleRun one = run_example("unet_mobilenet_v2_encoder", arguments + "1");
  EXPECT_EQ(two.status, 0) << two.output;
  const double last = number(two.output, "loss from [0-9.]+ to ([0-9.]+)");
  EXPECT_LT(last, number(two.output, "loss from ([0-9.]+)"));
  EXPECT_NEAR(last, number(one.output, "loss from [0-9.]+ to ([0-9.]+)"), 2e-3);
}

TEST_F(CutModels, TheHeatMapOfAPhotograph) {
  const auto weights = data() / "weights" / "mobilenet_v1_0.25_224_imagenet_keras2.8.h5";
  const auto photo = data() / "imagenet" / "photos" / "parrot.jpg";
  if (!std::filesystem::exists(weights) || !std::filesystem::exists(photo))
    GTEST_SKIP() << "no folder of large test data";
  const ExampleRun run =
      run_example("grad_cam", "--weights '" + weights.string() + "' --photo '" + photo.string() +
                                  "' --output '" + folder_.file("heat.png") + "'");
  EXPECT_EQ(run.status, 0) << run.output;
  EXPECT_GT(number(run.output, "score ([0-9.]+)"), 0.3);
  EXPECT_NE(run.output.find("(1, 7, 7, 1)"), std::string::npos) << run.output;
  EXPECT_TRUE(std::filesystem::exists(folder_.file("heat.png")));
}

}  // namespace
}  // namespace nyala
