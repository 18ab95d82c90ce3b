// What the library keeps for the whole process outlives static objects of the program and functions of
// atexit().
#include <filesystem>

#include <gtest/gtest.h>

#include <nyala/tests/support/child_process.h>

namespace nyala {
namespace {

TEST(AtExit, StaticObjectsTrainSaveAndLoadInTheirDestructors) {
  const std::filesystem::path folder = std::filesystem::path(::testing::TempDir()) / "train_at_exit";
  std::filesystem::create_directories(folder);
  ChildProcess program("train_at_exit", {folder.string()});
  EXPECT_EQ(program.wait(), 0) << "-1: it crashed";
}

}  // namespace
}  // namespace nyala
