// The example of branches on two devices, shortened, as a program.
#include <cstdlib>
#include <regex>

#include <nyala/tests/examples/run_example.h>

namespace nyala {

namespace {

struct Result {
  double loss = 0, accuracy = 0;
};

Result shortened(int devices) {
  const ExampleRun run = run_example("two_branch_lstm", "400 2 " + std::to_string(devices));
  EXPECT_EQ(run.status, 0) << run.output;
  Result result;
  std::smatch found;
  const std::string ending = run.output.substr(run.output.find("Epoch 2/2"));
  if (std::regex_search(ending, found, std::regex("loss: ([0-9.]+)"))) result.loss = std::stod(found[1]);
  if (std::regex_search(ending, found, std::regex("unseen text ([0-9.]+)")))
    result.accuracy = std::stod(found[1]);
  return result;
}

TEST(TwoBranchLstm, TwoDevicesLearnWhatOneLearns) {
  if (!std::filesystem::exists(example_path("two_branch_lstm"))) GTEST_SKIP() << "the example is not built";
  const char* chosen = std::getenv("NYALA_TEST_DATA");
  ::setenv("NYALA_DATA_DIR", chosen ? chosen : NYALA_TEST_DATA, 1);
  for (const char* file : {"tinyshakespeare.txt", "republic_clean.txt"})
    if (!datasets::find_data_file("text", file)) GTEST_SKIP() << file << " is not here (set NYALA_TEST_DATA)";
  const Result one = shortened(1), two = shortened(2);
  EXPECT_GT(two.loss, 0.3);
  EXPECT_LT(two.loss, 1.2);
  EXPECT_NEAR(two.loss, one.loss, 2e-3);
  EXPECT_GT(two.accuracy, 0.2);
  EXPECT_NEAR(two.accuracy, one.accuracy, 0.021);
}

}  // namespace

}  // namespace nyala
