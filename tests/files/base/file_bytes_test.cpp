// A file is opened where memory is short: what is missing is memory, not the file. One that is written to in
// place while it is read is never a mixture.
#include <atomic>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <random>
#include <span>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
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

/// Another program: at each call of `write` it overwrites the file in place, all of it by one other byte.
class Overwriter {
 public:
  Overwriter(const std::string& path, size_t size)
      : descriptor_(::open(path.c_str(), O_RDWR | O_CREAT, 0600)) {
    bytes_.resize(size);
    overwrite();
    thread_ = std::thread([this] {
      for (int done = 0; !ends_;) {
        if (asked_ == done) {
          std::this_thread::yield();
          continue;
        }
        overwrite();
        written_ = ++done;
      }
    });
  }
  ~Overwriter() {
    ends_ = true;
    thread_.join();
    ::close(descriptor_);
  }
  void write() { ++asked_; }
  void wait() const {
    while (written_ != asked_) std::this_thread::yield();
  }

 private:
  void overwrite() {
    std::memset(bytes_.data(), bytes_[0] + 1, bytes_.size());
    EXPECT_EQ(::pwrite(descriptor_, bytes_.data(), bytes_.size(), 0), static_cast<ssize_t>(bytes_.size()));
  }

  int descriptor_;
  std::vector<char> bytes_;
  std::atomic<int> asked_{0}, written_{0};
  std::atomic<bool> ends_{false};
  std::thread thread_;
};

void spin(std::chrono::microseconds time) {
  for (const auto end = std::chrono::steady_clock::now() + time; std::chrono::steady_clock::now() < end;) {
  }
}

/// Whether all bytes of the file are the same, read in pieces from its end.
bool is_of_one_write(const std::string& path) {
  const auto file = FileBytes::open(path);
  const uint64_t piece = file->size() / 4;
  std::vector<std::byte> bytes(file->size());
  for (uint64_t begin = file->size(); begin > 0; begin -= piece)
    file->read(begin - piece, std::span(bytes).subspan(begin - piece, piece));
  return std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0;
}

/// Opens the file at random moments around those at which it is overwritten.
void expect_no_mixture(size_t size, int rounds) {
  const ScratchFolder folder("overwritten");
  const std::string path = folder.file("x");
  Overwriter other(path, size);
  std::mt19937 random(7);
  int read = 0, mixed = 0;
  for (int round = 0; round < rounds; ++round) {
    other.write();
    spin(std::chrono::microseconds(random() % (size >> 12)));
    try {
      is_of_one_write(path) ? ++read : ++mixed;
    } catch (const IoError&) {
    }
    other.wait();
  }
  EXPECT_EQ(mixed, 0) << "of " << rounds;
  EXPECT_GT(read, 0);
}

TEST(FileBytes, AFileThatIsOverwrittenMeanwhileIsOfOneMoment) {
  expect_no_mixture(kMiB / 4, 50);
  expect_no_mixture(4 * kMiB, 30);
  expect_no_mixture(FileBytes::kMaxCopied + 4 * kMiB, 20);
}

TEST(FileErrors, SayWhatTheSystemSays) {
  EXPECT_EQ(error_text<OutOfMemoryError>([] { throw_file_error("cannot open 'x'", ENOMEM); }),
            "cannot open 'x': Cannot allocate memory");
  EXPECT_EQ(error_text<IoError>([] { throw_file_error("cannot open 'x'", EACCES); }),
            "cannot open 'x': Permission denied");
}

}  // namespace
}  // namespace nyala::file_bytes_test
