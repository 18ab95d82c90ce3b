// A file is opened where memory is short: what is missing is memory, not the file.
#include <fstream>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include <nyala/backend/core/error.h>
#include <nyala/files/base/file_bytes.h>
#include <nyala/files/base/file_errors.h>
#include <nyala/tests/support/error_text.h>
#include <nyala/tests/support/scratch_folder.h>

namespace nyala::file_bytes_test {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

size_t address_space() {
  size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<size_t>(::sysconf(_SC_PAGESIZE));
}

/// What opening `path` and asking for a byte of it says with so much room: 0 nothing, 1 OutOfMemoryError, 2
/// something else.
int opened_with(size_t room, const std::string& path) {
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit limit{address_space() + room, RLIM_INFINITY};
    ::setrlimit(RLIMIT_AS, &limit);
    try {
      (void)FileBytes::open(path)->part(0, 1);
    } catch (const OutOfMemoryError&) {
      ::_exit(1);
    } catch (...) {
      ::_exit(2);
    }
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

TEST(FileBytes, WithoutRoomItIsMemoryThatIsMissing) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers need the address space";
#endif
  const ScratchFolder folder("file_bytes");
  for (const size_t megabytes : {40u, 100u}) {
    const std::string path = folder.file(std::to_string(megabytes));
    std::ofstream(path) << "";
    ASSERT_EQ(::truncate(path.c_str(), static_cast<off_t>(megabytes * kMiB)), 0);
    EXPECT_EQ(opened_with(megabytes * kMiB / 2, path), 1) << megabytes;
    EXPECT_EQ(opened_with(megabytes * kMiB + 64 * kMiB, path), 0) << megabytes;
  }
}

TEST(FileErrors, SayWhatTheSystemSays) {
  EXPECT_EQ(error_text<OutOfMemoryError>([] { throw_file_error("cannot open 'x'", ENOMEM); }),
            "cannot open 'x': Cannot allocate memory");
  EXPECT_EQ(error_text<IoError>([] { throw_file_error("cannot open 'x'", EACCES); }),
            "cannot open 'x': Permission denied");
}

}  // namespace
}  // namespace nyala::file_bytes_test
