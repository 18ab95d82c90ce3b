// Which devices a process sees. Numbers are fixed by the first use of a device, so most cases run in a
// process of their own: the death tests' "threadsafe" style starts the program anew.
#include <cstdlib>
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/backend/core/error.h>
#include <nyala/backend/core/tensor.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/runtime/context.h>
#include <nyala/backend/runtime/device_registry.h>
#include <nyala/backend/runtime/visible_devices.h>

namespace nyala {

namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(VisibleDevicesTest, TheVariableNamesDevicesOrIndices) {
  EXPECT_THAT(parse_visible_devices("2,0"), ElementsAre(Device("gpu:2"), Device("gpu:0")));
  EXPECT_THAT(parse_visible_devices(" gpu:1 , ghost:3"), ElementsAre(Device("gpu:1"), Device("ghost:3")));
  for (const char* none : {"", "  ", "-1", "none"}) EXPECT_THAT(parse_visible_devices(none), IsEmpty());
  EXPECT_THROW(parse_visible_devices("0,,1"), InvalidArgumentError);
  EXPECT_THROW(parse_visible_devices("1,gpu:1"), InvalidArgumentError);
  try {
    parse_visible_devices("0,tpu:1");
    FAIL();
  } catch (const InvalidArgumentError& error) {
    EXPECT_THAT(error.what(), HasSubstr("NYALA_VISIBLE_DEVICES=\"0,tpu:1\""));
  }
}

TEST(VisibleDevicesTest, CudasVariableFollowsTheDriversRule) {
  EXPECT_THAT(parse_cuda_visible_devices("2,0", 4), ElementsAre(2, 0));
  EXPECT_THAT(parse_cuda_visible_devices("1, 3", 4), ElementsAre(1, 3));
  EXPECT_THAT(parse_cuda_visible_devices("0,-1,1", 4), ElementsAre(0));
  EXPECT_THAT(parse_cuda_visible_devices("0,4,1", 4), ElementsAre(0));
  EXPECT_THAT(parse_cuda_visible_devices("", 4), IsEmpty());
  EXPECT_THAT(parse_cuda_visible_devices("-1", 4), IsEmpty());
  EXPECT_THAT(parse_cuda_visible_devices("1,1", 4), IsEmpty());
}

void require(bool condition, const char* text) {
  if (condition) return;
  std::fprintf(stderr, "%s\n", text);
  std::_Exit(1);
}

template <class Function>
std::string error_of(const Function& function) {
  try {
    function();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

[[noreturn]] void renumber() {
  enable_ghost_device();
  require(list_physical_devices("ghost").size() == 4, "four physical ghosts");
  set_visible_devices({"ghost:2", "ghost:0"});
  require(list_logical_devices("ghost") == std::vector<Device>({"ghost:0", "ghost:1"}), "two logical");
  require(get_visible_devices() == std::vector<Device>({"cpu:0", "ghost:2", "ghost:0"}), "the physical ones");
  require(error_of([] { (void)device("ghost:2"); }).find("set_visible_devices") != std::string::npos, "hint");
  const Tensor x = Tensor::full({3}, 2.0).to("ghost:1");
  require(ops::add(x, x).to_vector<float>() == std::vector<float>(3, 4.0f), "they compute");
  require(error_of([] { set_visible_devices({"ghost:1"}); }).find("used already") != std::string::npos,
          "fixed");
  require(error_of([] { set_visible_devices("ghost", {0}); }).find("used already") != std::string::npos,
          "fixed");
  std::_Exit(0);
}

[[noreturn]] void by_index() {
  enable_ghost_device();
  set_visible_devices("ghost", {3});
  require(get_visible_devices() == std::vector<Device>({"cpu:0", "ghost:3"}), "one by index");
  set_visible_devices("ghost", {});
  require(list_logical_devices() == std::vector<Device>({"cpu:0"}), "all hidden");
  require(error_of([] { set_visible_devices("ghost", {4}); }).find("no physical device 'ghost:4'") !=
              std::string::npos,
          "unknown");
  require(error_of([] { set_visible_devices("ghost", {1, 1}); }).find("twice") != std::string::npos, "twice");
  require(error_of([] { set_visible_devices("cpu", {0}); }).find("always visible") != std::string::npos,
          "cpu");
  require(error_of([] { set_visible_devices({"cpu:1"}); }).find("no physical device") != std::string::npos,
          "a logical CPU is not physical");
  std::_Exit(0);
}

[[noreturn]] void by_environment() {
  setenv("NYALA_VISIBLE_DEVICES", "ghost:1", 1);
  enable_ghost_device();
  require(get_visible_devices() == std::vector<Device>({"cpu:0", "ghost:1"}), "from the environment");
  setenv("NYALA_VISIBLE_DEVICES", "ghost:2", 1);
  require(get_visible_devices() == std::vector<Device>({"cpu:0", "ghost:1"}), "read once");
  set_visible_devices({"ghost:3"});
  require(get_visible_devices() == std::vector<Device>({"cpu:0", "ghost:3"}), "a call replaces it");
  std::_Exit(0);
}

[[noreturn]] void bad_environment() {
  setenv("NYALA_VISIBLE_DEVICES", "gpu:one", 1);
  require(
      error_of([] { list_logical_devices(); }).find("NYALA_VISIBLE_DEVICES=\"gpu:one\"") != std::string::npos,
      "a bad variable is an error");
  std::_Exit(0);
}

class VisibleDevicesProcessTest : public ::testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(VisibleDevicesProcessTest, NumbersFollowTheList) {
  EXPECT_EXIT(renumber(), ::testing::ExitedWithCode(0), "");
}
TEST_F(VisibleDevicesProcessTest, Indices) { EXPECT_EXIT(by_index(), ::testing::ExitedWithCode(0), ""); }
TEST_F(VisibleDevicesProcessTest, Environment) {
  EXPECT_EXIT(by_environment(), ::testing::ExitedWithCode(0), "");
}
TEST_F(VisibleDevicesProcessTest, BadEnvironment) {
  EXPECT_EXIT(bad_environment(), ::testing::ExitedWithCode(0), "");
}

}  // namespace

}  // namespace nyala
