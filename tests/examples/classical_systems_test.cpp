// The examples of the classical ways to use several devices, shortened, as programs.
#include <cstdlib>
#include <regex>

#include <nyala/tests/examples/run_example.h>

namespace nyala {
namespace {

class ClassicalSystems : public ::testing::Test {
 protected:
  void needs(const std::string& name) {
    if (!std::filesystem::exists(example_path(name))) GTEST_SKIP() << name << " is not built";
  }
  static void SetUpTestSuite() { ::setenv("OMP_NUM_THREADS", "2", 0); }
};

/// The numbers that `pattern` captures, or a failure.
std::vector<double> numbers(const std::string& text, const std::string& pattern) {
  std::vector<double> found;
  const std::regex expression(pattern);
  for (std::sregex_iterator match(text.begin(), text.end(), expression), end; match != end; ++match)
    for (size_t group = 1; group < match->size(); ++group) found.push_back(std::stod((*match)[group]));
  EXPECT_FALSE(found.empty()) << "expected " << pattern << " in\n" << text;
  return found;
}

class FromScratch : public ClassicalSystems {
 protected:
  void SetUp() override {
    needs("data_parallel_from_scratch");
    if (!has_fashion_mnist()) GTEST_SKIP() << "Fashion-MNIST is not here";
  }

  /// Trains, and expects `changes_` to hold how far 20 steps move the weights, and by how much the two
  /// devices move them otherwise than the one.
  void train(const std::string& arguments) {
    const ExampleRun run = run_example("data_parallel_from_scratch", arguments);
    EXPECT_EQ(run.status, 0) << run.output;
    output_ = run.output;
    changes_ = numbers(
        output_, "change weights by up to ([0-9.e+-]+), 2 devices do so with a difference of ([0-9.e+-]+)");
    ASSERT_EQ(changes_.size(), 2u);
  }

  std::string output_;
  std::vector<double> changes_;
};

TEST_F(FromScratch, TwoDevicesTakeTheStepsOfOne) {
  ASSERT_NO_FATAL_FAILURE(train("1 5000 500"));
  EXPECT_GT(changes_[0], 1e-3);
  // Rounding: mostly 1e-7 of the change, more where it moves a ReLU over its edge.
  EXPECT_LT(changes_[1], 5e-3 * changes_[0]);
  EXPECT_EQ(numbers(output_, "test accuracy ([0-9.]+)").size(), 2u);
}

TEST_F(FromScratch, InFloat64TwoDevicesEndWhereOneDoes) {
  ASSERT_NO_FATAL_FAILURE(train("1 1000 200 2 float64"));
  EXPECT_LT(changes_[1], 1e-11 * changes_[0]);
  EXPECT_EQ(numbers(output_, "accuracy differs by ([0-9.]+)"), std::vector<double>{0.0});
}

TEST_F(ClassicalSystems, ThePolynomialIsFoundOnEveryNumberOfDevices) {
  needs("polynomial_make_parallel");
  if (IsSkipped()) return;
  const ExampleRun run = run_example("polynomial_make_parallel");
  EXPECT_EQ(run.status, 0) << run.output;
  const std::vector<double> w = numbers(run.output, "[0-9] steps: \\[([0-9.-]+), ([0-9.-]+), ([0-9.-]+)\\]");
  ASSERT_EQ(w.size(), 18u) << run.output;
  for (size_t row = 0; row < 6; ++row) {
    const bool after_3000 = row % 2 == 1;
    EXPECT_NEAR(w[3 * row], after_3000 ? 5.0 : 4.99, after_3000 ? 1e-3 : 0.02);
    EXPECT_NEAR(w[3 * row + 1], 0.0, after_3000 ? 1e-3 : 0.02);
    EXPECT_NEAR(w[3 * row + 2], after_3000 ? 3.0 : 3.4, after_3000 ? 1e-3 : 0.2);
  }
}

TEST_F(ClassicalSystems, ParameterUpdatesAgree) {
  needs("parameter_updates");
  if (IsSkipped()) return;
  if (!has_fashion_mnist()) GTEST_SKIP() << "Fashion-MNIST is not here";
  const ExampleRun run = run_example("parameter_updates", "1000");
  EXPECT_EQ(run.status, 0) << run.output;
  const std::vector<double> losses = numbers(run.output, "loss ([0-9.]+)");
  ASSERT_EQ(losses.size(), 3u) << run.output;
  EXPECT_LT(losses[0], 2.3) << "nothing was learned";
  EXPECT_LT(numbers(run.output, "difference of a weight: ([0-9.e+-]+)")[0], 1e-4);
}

}  // namespace
}  // namespace nyala
