// A table four times larger than the address space of chief and worker.
#include <regex>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/strategies/control/control_transport.h>
#include <nyala/tests/tools/tool_test.h>

namespace nyala::launch_tables_test {
namespace {

class LaunchTables : public ToolTest {};

TEST_F(LaunchTables, ATableFourTimesLargerThanTheAddressSpaceOfAWorkerTrains) {
  if (!detail::grpc_is_built()) GTEST_SKIP() << "this build has no gRPC";
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers need address space of their own";
#endif
  const int64_t bytes = int64_t{1600} << 20, columns = 64;
  const std::string program = NYALA_TEST_PROGRAMS "/table_worker";
  const ToolRun result = run({"launch", "--ps", "2", "--workers", "1", "--chief", "--", "env",
                              "NYALA_SNAPSHOTS=", "MALLOC_ARENA_MAX=2", "OMP_NUM_THREADS=1", program,
                              std::to_string(bytes / (columns * 4)), std::to_string(columns),
                              std::to_string(bytes / 4), "3", "zeros", "sgd"});
  EXPECT_EQ(result.status, 0) << result.err;
  const std::regex line("loss ([0-9.]+) after ([0-9.]+), the whole table is larger than the memory");
  int said = 0;
  for (std::sregex_iterator it(result.out.begin(), result.out.end(), line), end; it != end; ++it, ++said)
    EXPECT_LT(std::stod((*it)[1]), std::stod((*it)[2]));
  EXPECT_EQ(said, 2) << result.out << result.err;
}

}  // namespace
}  // namespace nyala::launch_tables_test
