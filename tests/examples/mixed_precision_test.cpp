// examples/mixed_precision.cpp: it learns, comes back from its file, and says what computes in which dtype.
#include <nyala/tests/examples/run_example.h>
#include <nyala/tests/support/scratch_folder.h>

namespace nyala {
namespace {

double number_in(const std::string& text, const std::string& pattern) {
  std::smatch found;
  if (std::regex_search(text, found, std::regex(pattern))) return std::stod(found[1]);
  ADD_FAILURE() << "expected " << pattern << " in\n" << text;
  return 0;
}

TEST(MixedPrecisionExample, LearnsInEveryPolicyAndOnTwoDevices) {
  const ScratchFolder folder("mixed_precision");
  const std::string output = " --rows 512 --epochs 3 --output '" + folder.file("rings.keras") + "'";
  for (const char* arguments : {"", "--devices 2", "--policy mixed_float16", "--policy float32"}) {
    SCOPED_TRACE(arguments);
    const ExampleRun run = run_example("mixed_precision", arguments + output);
    EXPECT_EQ(run.status, 0) << run.output;
    EXPECT_GT(number_in(run.output, "test accuracy ([0-9.]+)"), 0.8);
    EXPECT_LT(number_in(run.output, "float32's by at most ([0-9.]+)"), 0.1);
  }
  const ExampleRun run = run_example("mixed_precision", output);
  EXPECT_NE(run.output.find("mixed_bfloat16   computes in bfloat16, weights in float32"), std::string::npos)
      << run.output;
}

}  // namespace
}  // namespace nyala
