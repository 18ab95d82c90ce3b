// A memfd is reached by others as /proc/<process>/fd/<number>, which the kernel opens for the same user only
// (and for root); it needs no place in the file system, and is gone when the last process is.
#include <nyala/strategies/communicators/shared_segment.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <system_error>
#include <utility>

#include <nyala/backend/core/error.h>
#include <nyala/backend/core/write_signals.h>

namespace nyala::detail {

namespace {

constexpr const char* kSegmentName = "nyala-communicator";
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

std::string reason_now() { return std::generic_category().message(errno); }

/// "123 7": process and descriptor.
std::optional<std::pair<int, int>> parse_segment_name(std::string_view name) {
  std::pair<int, int> numbers;
  const char *at = name.data(), *const end = at + name.size();
  const auto first = std::from_chars(at, end, numbers.first);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != ' ') return std::nullopt;
  const auto second = std::from_chars(first.ptr + 1, end, numbers.second);
  if (second.ec != std::errc() || second.ptr != end) return std::nullopt;
  if (numbers.first <= 0 || numbers.second < 0) return std::nullopt;
  return numbers;
}

[[noreturn]] void refuse_segment(std::string_view name, const std::string& what) {
  throw CommunicationError("shared memory " + in_quotes(name) + " (process, descriptor): " + what);
}

/// A descriptor of any other kind is not opened: that alone could do something.
void check_is_memfd(std::string_view name, const std::string& path) {
  char target[128];
  const ssize_t length = ::readlink(path.c_str(), target, sizeof target);
  if (length < 0)
    refuse_segment(name,
                   reason_now() + "; its process has ended, or is another user's or of another container");
  if (!std::string_view(target, static_cast<size_t>(length))
           .starts_with("/memfd:" + std::string(kSegmentName)))
    refuse_segment(name, "is something else by now: of a process that has ended");
}

}  // namespace

SharedSegment::SharedSegment(size_t bytes) : bytes_(bytes) {
  descriptor_ = ::memfd_create(kSegmentName, MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (descriptor_ < 0) throw IoError("shared memory: memfd_create: " + reason_now());
  const NoWriteSignals none;
  const int error = ::posix_fallocate(descriptor_, 0, static_cast<off_t>(bytes));
  const bool sealed =
      error == 0 && ::fchmod(descriptor_, 0600) == 0 && ::fcntl(descriptor_, F_ADD_SEALS, kSeals) == 0;
  if (!sealed) {
    const std::string why = error != 0 ? std::generic_category().message(error) : reason_now();
    ::close(descriptor_);
    throw OutOfMemoryError("shared memory of " + std::to_string(bytes) + " bytes: " + why);
  }
  map(descriptor_);
}

SharedSegment::SharedSegment(std::string_view name, size_t bytes) : bytes_(bytes) {
  const auto numbers = parse_segment_name(name);
  if (!numbers) refuse_segment(name, "is no name of any");
  const std::string path =
      "/proc/" + std::to_string(numbers->first) + "/fd/" + std::to_string(numbers->second);
  check_is_memfd(name, path);
  descriptor_ = ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor_ < 0) refuse_segment(name, reason_now());
  struct stat about {};
  const int seals = ::fcntl(descriptor_, F_GET_SEALS);
  const bool known = ::fstat(descriptor_, &about) == 0 && S_ISREG(about.st_mode) && seals >= 0;
  const char* wrong = nullptr;
  if (!known)
    wrong = "is no sealed memory";
  else if (about.st_uid != ::geteuid())
    wrong = "is another user's";
  else if ((about.st_mode & 077) != 0)
    wrong = "is open to other users";
  else if (about.st_size != static_cast<off_t>(bytes))
    wrong = "has another size: of another version or number of ranks";
  else if ((seals & (F_SEAL_SHRINK | F_SEAL_GROW)) != (F_SEAL_SHRINK | F_SEAL_GROW))
    wrong = "could be shrunk";
  if (wrong != nullptr) {
    ::close(descriptor_);
    refuse_segment(name, wrong);
  }
  map(descriptor_);
}

SharedSegment::~SharedSegment() {
  ::munmap(data_, bytes_);
  forget_name();
}

void SharedSegment::map(int descriptor) {
  void* const at = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, descriptor, 0);
  if (at == MAP_FAILED) {
    const std::string why = reason_now();
    ::close(descriptor);
    throw OutOfMemoryError("shared memory of " + std::to_string(bytes_) + " bytes: mmap: " + why);
  }
  data_ = static_cast<std::byte*>(at);
}

std::string SharedSegment::name() const {
  return std::to_string(::getpid()) + " " + std::to_string(descriptor_);
}

void SharedSegment::forget_name() {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
}

}  // namespace nyala::detail
