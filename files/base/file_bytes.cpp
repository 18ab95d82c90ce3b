// Not mapped: a mapped file that another program cuts short is a SIGBUS. Pages of 64 KiB are read by pread
// into room that is reserved as large as the file and takes memory as it is filled, so that spans stay where
// they are. Size and time of the last write are looked at after each read. What makes them tell of every
// write: they are taken when no write can have the same time any more, and a write that had begun by then is
// waited for. Neither the time of the last change of status nor the inode is looked at: a file that is
// replaced is read on.
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <new>
#include <sys/mman.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include <nyala/backend/core/error.h>
#include <nyala/backend/core/out_of_memory.h>
#include <nyala/files/base/file_bytes.h>
#include <nyala/files/base/file_errors.h>

namespace nyala {
namespace {

constexpr uint64_t kPage = uint64_t{64} << 10;  // what is kept together
constexpr int kPatience = 5;                    // so many writes are waited for

[[noreturn]] void throw_system_error(const std::string& what, const std::string& path, int code) {
  throw_file_error(what + " '" + path + "'", code);
}

[[noreturn]] void throw_no_room(const std::string& path, uint64_t bytes) {
  throw_out_of_memory([&] { return "no memory for " + std::to_string(bytes) + " bytes of '" + path + "'"; });
}

struct stat status_of(int descriptor, const std::string& path) {
  struct stat status {};
  if (fstat(descriptor, &status) != 0) throw_system_error("cannot read", path, errno);
  return status;
}

bool same_time(const timespec& a, const timespec& b) {
  return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

std::chrono::nanoseconds duration(const timespec& time) {
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

/// How long until a write has another time than `written` for certain: two ticks of the clock by which file
/// systems date writes, counted from there. No time where `written` is of another clock.
std::chrono::nanoseconds until_times_differ(const timespec& written) {
  timespec tick{}, now{};
  ::clock_getres(CLOCK_REALTIME_COARSE, &tick);
  ::clock_gettime(CLOCK_REALTIME_COARSE, &now);
  const auto age = duration(now) - duration(written), ticks = 2 * duration(tick);
  return age < -ticks ? std::chrono::nanoseconds(0) : ticks - age;
}

struct stat status_of_file(int descriptor, const std::string& path) {
  const struct stat status = status_of(descriptor, path);
  if (!S_ISREG(status.st_mode)) throw IoError("cannot read '" + path + "': it is not a regular file");
  return status;
}

/// The status of a file whose time of the last write no later write has.
struct stat settled_status(int descriptor, const std::string& path) {
  struct stat status = status_of_file(descriptor, path);
  for (int writes = 0; writes < kPatience;) {
    const auto rest = until_times_differ(status.st_mtim);
    if (rest.count() <= 0) return status;
    std::this_thread::sleep_for(rest);  // that clock may go on later
    const struct stat now = status_of_file(descriptor, path);
    if (!same_time(now.st_mtim, status.st_mtim)) ++writes;
    status = now;
  }
  throw IoError("cannot read '" + path + "': another program keeps writing to it");
}

/// A write dates the file first and copies its bytes then, so that one which has begun is not seen by the
/// time. File systems look for data under the lock that a write holds.
void wait_for_write(int descriptor) { (void)::lseek(descriptor, 0, SEEK_DATA); }

}  // namespace

std::shared_ptr<const FileBytes> FileBytes::open(const std::string& path) {
  // O_NONBLOCK: opening a pipe without a writer would wait for one.
  const int descriptor = ::open(checked_path(path).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) throw_system_error("cannot open", path, errno);
  return std::shared_ptr<const FileBytes>(new FileBytes(path, descriptor));
}

FileBytes::FileBytes(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {
  try {
    const struct stat status = settled_status(descriptor_, path_);
    wait_for_write(descriptor_);
    size_ = static_cast<uint64_t>(status.st_size);
    written_ = status.st_mtim;
    if (size_ > kMaxCopied) return;
    copy_.resize(size_);
    fetch(0, copy_);
  } catch (const std::bad_alloc&) {
    ::close(descriptor_);
    throw_no_room(path_, size_);
  } catch (...) {
    ::close(descriptor_);
    throw;
  }
  ::close(descriptor_);
  descriptor_ = -1;
}

FileBytes::~FileBytes() {
  if (room_) ::munmap(room_, size_);
  if (descriptor_ >= 0) ::close(descriptor_);
}

void FileBytes::check_inside(uint64_t begin, uint64_t count) const {
  detail::check_internal(begin <= size_ && count <= size_ - begin,
                         "bytes beyond the end of a file were asked for");
}

std::span<const std::byte> FileBytes::part(uint64_t begin, uint64_t count) const {
  check_inside(begin, count);
  if (in_memory()) return std::span(copy_).subspan(begin, count);
  if (count == 0) return {};
  const std::lock_guard lock(mutex_);
  if (!room_) {
    void* const room =
        ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED) throw_no_room(path_, size_);
    room_ = static_cast<std::byte*>(room);
  }
  for (uint64_t page = begin / kPage; page <= (begin + count - 1) / kPage; ++page) keep_page(page);
  return {room_ + begin, count};
}

void FileBytes::keep_page(uint64_t page) const {
  if (kept_.contains(page)) return;
  const uint64_t begin = page * kPage;
  fetch(begin, {room_ + begin, std::min(kPage, size_ - begin)});
  kept_.insert(page);
}

void FileBytes::read(uint64_t begin, std::span<std::byte> out) const {
  check_inside(begin, out.size());
  if (in_memory())
    std::copy_n(copy_.begin() + static_cast<std::ptrdiff_t>(begin), out.size(), out.begin());
  else if (!out.empty())
    fetch(begin, out);
}

void FileBytes::fetch(uint64_t begin, std::span<std::byte> out) const {
  auto position = static_cast<off_t>(begin);
  while (!out.empty()) {
    const ssize_t count = ::pread(descriptor_, out.data(), std::min(out.size(), size_t{1} << 30), position);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw_system_error("cannot read", path_, errno);
    if (count == 0) break;
    out = out.subspan(static_cast<size_t>(count));
    position += count;
  }
  const struct stat now = status_of(descriptor_, path_);
  if (!out.empty() || static_cast<uint64_t>(now.st_size) < size_)
    throw IoError("cannot read '" + path_ + "': it became shorter while it was read (" +
                  std::to_string(now.st_size) + " of " + std::to_string(size_) + " bytes)");
  if (!same_time(now.st_mtim, written_) || static_cast<uint64_t>(now.st_size) != size_)
    throw IoError("cannot read '" + path_ + "': another program wrote to it while it was read");
}

}  // namespace nyala
