// The examples of pretrained networks, shortened, as programs.
#include <cstdlib>
#include <regex>

#include <nyala/tests/support/scratch_folder.h>
#include <nyala/tests/examples/run_example.h>

namespace nyala {
namespace {

class TransferLearning : public ::testing::Test {
 protected:
  void needs(const std::string& name) {
    if (!std::filesystem::exists(example_path(name))) GTEST_SKIP() << name << " is not built";
  }
  const std::pair<std::string, std::string> train_{"cifar10", "lossless_train_4053.bin.gz"},
      test_{"cifar10", "lossless_test_761.bin.gz"},
      weights_{"weights", "derived_mobilenet_v2_0.35_128_imagenet_notop.h5"};
  const ScratchFolder folder_{"transfer_learning"};
};

/// Random weights give 20 % by a linear probe on all training images.
TEST_F(TransferLearning, FineTuningLearnsAndItsFileIsTheBestEpoch) {
  needs("finetune_mobilenet_v2");
  if (IsSkipped()) return;
  needs_data({train_, test_, weights_});
  if (IsSkipped()) return;
  const std::string arguments = "--rows 512 --head-epochs 6 --tune-epochs 1 --cache --verbose 0 --output '" +
                                folder_.file("best.keras") + "'";
  const ExampleRun run = run_example("finetune_mobilenet_v2", arguments);
  EXPECT_EQ(run.status, 0) << run.output;
  EXPECT_GT(number(run.output, "head: .* best ([0-9.]+)"), 0.5);
  EXPECT_LT(number(run.output, "input wait ([0-9.]+) %"), 100);
  EXPECT_TRUE(std::filesystem::exists(folder_.file("best.keras")));
}

TEST_F(TransferLearning, FineTuningSaysWhatIsMissing) {
  needs("finetune_mobilenet_v2");
  if (IsSkipped()) return;
  const char* before = std::getenv("NYALA_DATA_DIR");
  const std::string kept = before ? before : "";
  ::setenv("NYALA_DATA_DIR", folder_.path().c_str(), 1);
  if (!datasets::find_data_file(weights_.first, weights_.second)) {
    const ExampleRun run = run_example("finetune_mobilenet_v2");
    EXPECT_EQ(run.status, 0);
    EXPECT_NE(run.output.find("skipped"), std::string::npos) << run.output;
    EXPECT_NE(run.output.find(weights_.second), std::string::npos) << run.output;
  }
  ::setenv("NYALA_DATA_DIR", kept.c_str(), 1);
}

TEST_F(TransferLearning, TheTutorialRuns) {
  needs("tutorial_mobilenet_v2");
  if (IsSkipped()) return;
  needs_data({train_, test_});
  if (IsSkipped()) return;
  const ExampleRun run = run_example("tutorial_mobilenet_v2", "--limit 6 --epochs 1 --weights none");
  EXPECT_EQ(run.status, 0) << run.output;
  EXPECT_GT(number(run.output, "test loss ([0-9.]+)"), 3.0) << run.output;
}

TEST_F(TransferLearning, TheTutorialSaysWhichWeightsToPlaceWhere) {
  needs("tutorial_mobilenet_v2");
  if (IsSkipped()) return;
  needs_data({train_, test_});
  if (IsSkipped()) return;
  const ExampleRun run =
      run_example("tutorial_mobilenet_v2", "--limit 6 --epochs 1",
                  "NYALA_HOME='" + folder_.path().string() + "' HOME='" + folder_.path().string() +
                      "' https_proxy=http://127.0.0.1:1 no_proxy= ");
  EXPECT_EQ(run.status, 0) << run.output;
  for (const std::string& part :
       {std::string("skipped"), std::string("mobilenet_v2_weights_tf_dim_ordering_tf_kernels_1.0_224.h5"),
        (folder_.path() / "models").string(), std::string("https://storage.googleapis.com")})
    EXPECT_NE(run.output.find(part), std::string::npos) << part << " in\n" << run.output;
}

TEST_F(TransferLearning, XceptionOnSeveralDevicesSavesItsTemplate) {
  needs("xception_multi_gpu");
  if (IsSkipped()) return;
  const ExampleRun run =
      run_example("xception_multi_gpu", "--samples 4 --size 71 --classes 5 --batch 4 --epochs 1 --output '" +
                                            folder_.file("xception.keras") + "'");
  EXPECT_EQ(run.status, 0) << run.output;
  EXPECT_NE(run.output.find("saved template"), std::string::npos) << run.output;
  for (const char* name : {"xception.keras", "epoch-xception.keras"})
    EXPECT_TRUE(std::filesystem::exists(folder_.file(name))) << name;
}

}  // namespace
}  // namespace nyala
