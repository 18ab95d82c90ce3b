// What a program cannot write is an error, not a death by SIGXFSZ or SIGPIPE.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include <nyala/tests/tools/tool_test.h>

namespace nyala {
namespace {

class ToolBrokenOutput : public ToolTest {
 protected:
  void SetUp() override {
    ToolTest::SetUp();
    model_.save(file("m.keras"));
  }
  Model model_ = Sequential({Input({4}), Dense(64), Dense(64), Dense(2)});
};

TEST_F(ToolBrokenOutput, AFileThatMayNotGrowLeavesTheOldOneWhole) {
  model_.save(file("out.keras"));
  const auto size = std::filesystem::file_size(file("out.keras"));
  rlimit old{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
  const rlimit limit{4096, old.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  const ToolRun result = run({"convert", file("m.keras"), file("out.keras")});
  ::setrlimit(RLIMIT_FSIZE, &old);
  EXPECT_EQ(result.status, 1) << result.err;
  EXPECT_NE(result.err.find(file("out.keras")), std::string::npos) << result.err;
  EXPECT_EQ(std::filesystem::file_size(file("out.keras")), size);
  expect_same_weights(load_model(file("out.keras")), model_);
}

TEST_F(ToolBrokenOutput, AReaderThatHasGoneIsAnError) {
  const std::string pipe = file("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(reader, 0);
  NyalaProcess process(folder_.path().string(), {"summary", file("m.keras")}, pipe);
  ::close(reader);
  const ToolRun result = process.wait();
  EXPECT_EQ(result.status, 1) << result.err;
}

}  // namespace
}  // namespace nyala
