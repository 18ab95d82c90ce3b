// The program of docs/multi_worker.md: two processes learn what one learns.
#include <nyala/tests/support/scratch_folder.h>
#include <nyala/tests/examples/run_example.h>

namespace nyala {
namespace {

std::string arguments(const ScratchFolder& folder, const std::string& name) {
  const std::string meeting = folder.file(name);
  std::filesystem::create_directory(meeting);
  return "'" NYALA_SOURCE_DIR "/examples/data/houses.csv' '" + meeting + "'";
}

TEST(SeveralProcesses, LearnWhatOneLearns) {
  const ScratchFolder folder("several_processes");
  const ExampleRun one = run_example("several_processes", arguments(folder, "one"));
  ASSERT_EQ(one.status, 0) << one.output;
  const std::string two_of_them = arguments(folder, "two"),
                    program = example_path("several_processes").string();
  const ExampleRun two = run_example(
      "several_processes",
      two_of_them + " & NYALA_RANK=1 NYALA_WORLD_SIZE=2 '" + program + "' " + two_of_them + "; wait $!",
      "NYALA_RANK=0 NYALA_WORLD_SIZE=2");
  EXPECT_EQ(two.status, 0) << two.output;
  const double loss = number(one.output, "rank 0 of 1: loss ([0-9.]+)");
  EXPECT_NEAR(number(two.output, "rank 0 of 2: loss ([0-9.]+)"), loss, 1e-3 * loss);
  EXPECT_EQ(number(two.output, "rank 1 of 2: loss ([0-9.]+)"),
            number(two.output, "rank 0 of 2: loss ([0-9.]+)"));
}

}  // namespace
}  // namespace nyala
