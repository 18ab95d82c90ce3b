// The example of branches on two devices, shortened, as a program.
#include <cstdlib>
#include <regex>

#include <nyala/tests/examples/run_example.h>

namespace nyala {

namespace {

struct Result {
  double loss = 0, accuracy = 0, unseen = 0;
};

/// What the program printed of its last epoch, with these arguments.
Result result_of(const std::string& arguments) {
  const ExampleRun run = run_example("two_branch_lstm", arguments);
  EXPECT_EQ(run.status, 0) << run.output;
  Result result;
  std::smatch found;
  const size_t last = run.output.rfind("Epoch ");
  if (last == std::string::npos) return result;
  const std::string ending = run.output.substr(last);
  if (std::regex_search(ending, found, std::regex("loss: ([0-9.]+)"))) result.loss = std::stod(found[1]);
  if (std::regex_search(ending, found, std::regex("accuracy: ([0-9.]+)")))
    result.accuracy = std::stod(found[1]);
  if (std::regex_search(ending, found, std::regex("unseen text ([0-9.]+)")))
    result.unseen = std::stod(found[1]);
  return result;
}

class TwoBranchLstm : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(example_path("two_branch_lstm"))) GTEST_SKIP() << "the example is not built";
    const char* chosen = std::getenv("NYALA_TEST_DATA");
    ::setenv("NYALA_DATA_DIR", chosen ? chosen : NYALA_TEST_DATA, 1);
    for (const char* file : {"tinyshakespeare.txt", "republic_clean.txt"})
      if (!datasets::find_data_file("text", file))
        GTEST_SKIP() << file << " is not here (set NYALA_TEST_DATA)";
  }
};

TEST_F(TwoBranchLstm, TwoDevicesLearnWhatOneLearns) {
  const Result one = result_of("400 2 1"), two = result_of("400 2 2");
  EXPECT_GT(two.loss, 0.3);
  EXPECT_LT(two.loss, 1.2);
  EXPECT_NEAR(two.loss, one.loss, 2e-3);
  EXPECT_GT(two.unseen, 0.2);
  EXPECT_NEAR(two.unseen, one.unseen, 0.021);
}

/// Half of the pairs have label 1, whose entropy is 1.04; the third epoch is the first that is surely below.
TEST_F(TwoBranchLstm, LearnsToTellTheAuthors) {
  const Result result = result_of("8000 3 2");
  EXPECT_LT(result.loss, 0.95);
  EXPECT_GT(result.accuracy, 0.55);
}

}  // namespace

}  // namespace nyala
