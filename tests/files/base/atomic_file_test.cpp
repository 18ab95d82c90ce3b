#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <functional>
#include <signal.h>
#include <string>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include <nyala/backend/core/error.h>
#include <nyala/files/base/atomic_file.h>
#include <nyala/files/base/file_bytes.h>
#include <nyala/files/base/folder.h>
#include <nyala/tests/support/error_text.h>
#include <nyala/tests/support/scratch_folder.h>

namespace nyala {
namespace {

namespace fs = std::filesystem;

class AtomicFileTest : public ::testing::Test {
 protected:
  static std::span<const std::byte> bytes_of(const std::string& text) {
    return std::as_bytes(std::span(text));
  }
  void write(const std::string& text) const { write_file_atomically(path_, bytes_of(text)); }
  std::string content() const {
    std::ifstream stream(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  }
  size_t files() const {
    return static_cast<size_t>(
        std::distance(fs::directory_iterator(folder_.path()), fs::directory_iterator()));
  }

  template <class Action>
  void expect_io_error(const Action& action, const std::string& reason) const {
    try {
      action();
      ADD_FAILURE() << "nothing was thrown; expected: " << reason;
    } catch (const IoError& error) {
      EXPECT_NE(std::string(error.what()).find(path_), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find(reason), std::string::npos) << error.what();
    }
  }

  ScratchFolder folder_{"atomic_file"};
  std::string path_ = folder_.file("x.h5");
};

TEST_F(AtomicFileTest, WritesReplacesAndLeavesNothingElse) {
  write("one");
  EXPECT_EQ(content(), "one");
  write("two, longer");
  EXPECT_EQ(content(), "two, longer");
  write("");
  EXPECT_EQ(content(), "");
  EXPECT_EQ(files(), 1u);
}

TEST_F(AtomicFileTest, CallbackFillsTheTemporaryFile) {
  write("old");
  write_file_atomically(path_, [&](const std::string& temporary) {
    EXPECT_EQ(temporary.rfind(path_ + ".nyala-tmp-" + std::to_string(::getpid()) + "-", 0), 0u) << temporary;
    std::ofstream(temporary) << "new";
    EXPECT_EQ(content(), "old");
  });
  EXPECT_EQ(content(), "new");
  EXPECT_EQ(files(), 1u);
}

TEST_F(AtomicFileTest, AThrowingCallbackChangesNothing) {
  write("old");
  const auto fill = [](const std::string& temporary) {
    std::ofstream(temporary) << "half";
    throw StateError("stop");
  };
  EXPECT_THROW(write_file_atomically(path_, fill), StateError);
  EXPECT_EQ(content(), "old");
  EXPECT_EQ(files(), 1u);
}

TEST_F(AtomicFileTest, SymbolicLinksAndPermissionsStay) {
  write("old");
  ASSERT_EQ(::chmod(path_.c_str(), 0640), 0);
  const std::string target = path_;
  path_ = folder_.file("link.h5");
  fs::create_symlink(target, path_);
  write("new");
  EXPECT_TRUE(fs::is_symlink(path_));
  EXPECT_EQ(content(), "new");
  struct stat status {};
  ASSERT_EQ(::stat(target.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777u, 0640u);
  EXPECT_EQ(files(), 2u);
}

TEST_F(AtomicFileTest, ImpossiblePlacesAreNamed) {
  path_ = (folder_ / "missing" / "x.h5").string();
  expect_io_error([&] { write("x"); }, "does not exist");
  path_ = folder_.path().string();
  expect_io_error([&] { write("x"); }, "no regular file");
  path_ = "/dev/null";
  expect_io_error([&] { write("x"); }, "no regular file");
  path_ = folder_.file(std::string(300, 'n'));
  expect_io_error([&] { write("x"); }, "name too long");
  EXPECT_EQ(files(), 0u);
}

TEST_F(AtomicFileTest, AFullDiskIsNamedAndLeavesTheOldFile) {
  write("old");
  // A limit on the size of files fails like a full disk: in the middle of a write.
  struct rlimit old_limit {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old_limit), 0);
  const struct rlimit limit { 10000, old_limit.rlim_max };
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);  // its signal would end the process
  expect_io_error([&] { write(std::string(50000, 'x')); }, "File too large; files of this process may have");
  ::setrlimit(RLIMIT_FSIZE, &old_limit);
  EXPECT_EQ(content(), "old");
  EXPECT_EQ(files(), 1u);
}

// Some would be cut where the byte stands, and another file be written.
TEST_F(AtomicFileTest, APathWithANulByteIsRefused) {
  const std::string cut = path_ + std::string("\0.keras", 7);
  for (const auto& use : std::vector<std::function<void()>>{
           [&] { AtomicFile file(cut); }, [&] { FileBytes::open(cut); }, [&] { names_in_folder(cut); }})
    expect_error<InvalidArgumentError>(use, {"NUL byte at position " + std::to_string(path_.size())});
  EXPECT_EQ(files(), 0u);
}

TEST_F(AtomicFileTest, ThreadsWritingOnePathLeaveOneWholeFile) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 25; ++i) write(std::string(100000, static_cast<char>('a' + t)));
    });
  for (std::thread& thread : threads) thread.join();
  const std::string text = content();
  EXPECT_EQ(text, std::string(100000, text.front()));
  EXPECT_EQ(files(), 1u);
}

TEST_F(AtomicFileTest, KilledWritersLeaveAWholeFileAndNoRubbish) {
  write(std::string(200000, 'z'));
  for (int round = 0; round < 20; ++round) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      for (char c = 'a';; c = c == 'y' ? 'a' : static_cast<char>(c + 1)) write(std::string(200000, c));
    }
    ::usleep(static_cast<useconds_t>(2000 + 1371 * round));
    ::kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
    const std::string text = content();
    ASSERT_EQ(text, std::string(200000, text.front()));
    ASSERT_LE(files(), 2u) << "at most the file and what the killed writer left";
  }
  write("done");
  EXPECT_EQ(content(), "done");
  EXPECT_EQ(files(), 1u);
}

TEST_F(AtomicFileTest, ForeignFilesAreNotTakenForTemporaryOnes) {
  const std::string digits = "0123456789abcdef";
  const std::vector<std::string> kept = {"x.h5.tmp-2024-11",
                                         "x.h5.tmp-1-1",
                                         "x.h5.nyala-tmp-",
                                         "x.h5.nyala-tmp-1-1",
                                         "x.h5.nyala-tmp-a-" + digits,
                                         "x.h5.nyala-tmp-1-" + digits + "0",
                                         "x.h5.nyala-tmp-1-" + digits.substr(1) + "A",
                                         "y.h5.nyala-tmp-1-" + digits};
  for (const std::string& name : kept) std::ofstream(folder_ / name) << "keep";
  const fs::path left = folder_ / ("x.h5.nyala-tmp-1-" + digits);
  std::ofstream(left) << "left by a killed writer";
  write("new");
  EXPECT_EQ(files(), kept.size() + 1);
  EXPECT_FALSE(fs::exists(left));
  for (const std::string& name : kept) EXPECT_TRUE(fs::exists(folder_ / name)) << name;
}

TEST_F(AtomicFileTest, LinksThatLeadToNothingYet) {
  const std::string target = path_;
  fs::create_symlink("second.h5", folder_ / "first.h5");  // relative to the folder
  fs::create_symlink(target, folder_ / "second.h5");
  path_ = folder_.file("first.h5");
  write("new");
  EXPECT_TRUE(fs::is_symlink(path_));
  EXPECT_TRUE(fs::is_symlink(folder_ / "second.h5"));
  EXPECT_TRUE(fs::is_regular_file(target));
  EXPECT_FALSE(fs::is_symlink(target));
  EXPECT_EQ(content(), "new");
  path_ = folder_.file("away.h5");
  fs::create_symlink(folder_ / "missing" / "x.h5", path_);
  expect_io_error([&] { write("x"); }, "missing' does not exist");
  EXPECT_TRUE(fs::is_symlink(path_));
  path_ = folder_.file("circle.h5");
  fs::create_symlink("circle.h5", path_);
  expect_io_error([&] { write("x"); }, "symbolic link");
}

}  // namespace
}  // namespace nyala
