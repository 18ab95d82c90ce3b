// Write beside, fsync, rename, fsync the folder: the order that leaves the old content or the new one,
// whatever happens between. The writer holds a lock (flock) on its temporary file, which the system drops
// when the process dies, so that the next writer knows by trying it which files nobody writes any more; a
// process id alone would be reused.
#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <fcntl.h>
#include <filesystem>
#include <sys/file.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include <nyala/backend/core/error.h>
#include <nyala/backend/core/write_signals.h>
#include <nyala/backend/runtime/system_random.h>
#include <nyala/files/base/atomic_file.h>
#include <nyala/files/base/file_errors.h>
#include <nyala/files/base/folder.h>

namespace nyala {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMark = ".nyala-tmp-";
constexpr size_t kRandomDigits = 16;

std::string parent_of(const std::string& path) {
  const std::string parent = fs::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

/// Opens `path` if it is a temporary file that nobody writes: -1, or a descriptor that holds its lock.
int open_unlocked(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (descriptor < 0) return -1;
  if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0) return descriptor;
  ::close(descriptor);
  return -1;
}

/// "<process>-<16 random digits>": nobody else's file is called so by chance.
std::string temporary_suffix() {
  const uint64_t number = detail::system_random();
  std::string digits;
  for (size_t i = 0; i < kRandomDigits; ++i) digits += "0123456789abcdef"[number >> (4 * i) & 15];
  return std::to_string(::getpid()) + "-" + digits;
}

/// True for what temporary_suffix() gives.
bool is_temporary_suffix(std::string_view text) {
  const size_t dash = text.find('-');
  const auto is_made_of = [](std::string_view part, const char* digits) {
    return !part.empty() && part.find_first_not_of(digits) == std::string_view::npos;
  };
  return dash != std::string_view::npos && is_made_of(text.substr(0, dash), "0123456789") &&
         is_made_of(text.substr(dash + 1), "0123456789abcdef") && text.size() - dash - 1 == kRandomDigits;
}

/// What the names of temporary files of `target` begin with. They share the end of the name where it is too
/// long for both: files of other writers are known by their lock.
std::string temporary_prefix(const std::string& target) {
  constexpr size_t kMostDigits = 10, kMostMark = 11 + kMostDigits + 1 + kRandomDigits;
  static_assert(std::string_view(kMark).size() == 11);
  const long limit = ::pathconf(parent_of(target).c_str(), _PC_NAME_MAX);
  const size_t most = limit < 0 ? 255 : static_cast<size_t>(limit);
  std::string name = fs::path(target).filename().string();
  if (name.size() + kMostMark > most) {
    size_t end = most - std::min(most, kMostMark);
    while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xC0) == 0x80) --end;  // no half of a letter
    name.resize(end);
  }
  return name + kMark;
}

/// Where a file written to `path` goes: behind symbolic links, also those that lead to nothing yet.
std::string behind_links(const std::string& path) {
  constexpr int kMostLinks = 40;  // as the system follows
  fs::path target = path;
  std::error_code code;
  for (int i = 0; fs::is_symlink(fs::symlink_status(target, code)); ++i) {
    const fs::path next = fs::read_symlink(target, code);
    if (code || i == kMostLinks)
      throw_file_error("cannot follow the symbolic link '" + path + "'", code ? code.value() : ELOOP);
    target = target.parent_path() / next;  // of which an absolute one is all
  }
  return target.string();
}

}  // namespace

AtomicFile::AtomicFile(const std::string& path)
    : path_(checked_path(path)), target_(behind_links(path)), prefix_(temporary_prefix(target_)) {
  std::error_code code;
  const fs::file_status status = fs::status(target_, code);
  if (!fs::status_known(status)) fail("cannot write", code.value());
  if (fs::exists(status) && !fs::is_regular_file(status))
    throw IoError("cannot write '" + path_ + "': it exists and is no regular file");
  const bool has_folder = fs::is_directory(parent_of(target_), code);
  if (code == std::errc::not_enough_memory) fail("cannot write", code.value());
  if (!has_folder)
    throw IoError("cannot write '" + path_ + "': the folder '" + parent_of(target_) + "' does not exist");
  remove_left_by_killed_writers(parent_of(target_), [this](std::string_view name) {
    return prefix_.starts_with(name) && prefix_.size() == name.size() + std::string_view(kMark).size();
  });
  try {
    create_temporary();
    adopt_permissions();
  } catch (...) {
    if (descriptor_ >= 0) {
      ::unlink(temporary_.c_str());
      ::close(descriptor_);
    }
    throw;
  }
}

AtomicFile::~AtomicFile() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
  if (descriptor_ >= 0) ::close(descriptor_);
}

void AtomicFile::fail(const char* what, int code) const {
  throw_file_error(std::string(what) + " '" + path_ + "'", code);
}

void AtomicFile::create_temporary() {
  constexpr int kAttempts = 1000;
  for (int i = 0; i < kAttempts; ++i) {
    temporary_ = (fs::path(target_).parent_path() / (prefix_ + temporary_suffix())).string();
    descriptor_ = ::open(temporary_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor_ < 0 && errno == EEXIST) continue;
    if (descriptor_ < 0) fail("cannot write", errno);
    // Between the two calls another writer may have taken the file for a dead one's. File systems
    // without locks have no such cleaners.
    struct stat status {};
    const bool is_lost = ::flock(descriptor_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    if (!is_lost && ::fstat(descriptor_, &status) == 0 && status.st_nlink > 0) return;
    ::close(descriptor_);
    descriptor_ = -1;
  }
  fail("cannot write", EEXIST);
}

void AtomicFile::adopt_permissions() const {
  struct stat old {};
  if (::stat(target_.c_str(), &old) != 0) return;
  // A file of somebody else in a folder that we may write: keep what can be kept.
  if (::fchmod(descriptor_, old.st_mode & 07777) != 0 && errno != EPERM)
    fail("cannot set the permissions of", errno);
}

void remove_left_by_killed_writers(const std::string& folder,
                                   const std::function<bool(std::string_view name)>& is_one) try {
  for (const std::string& found : names_in_folder(folder)) {
    const std::string_view name = found;
    const size_t mark = name.rfind(kMark);
    if (mark == std::string_view::npos) continue;
    if (!is_temporary_suffix(name.substr(mark + std::string_view(kMark).size()))) continue;
    if (!is_one(name.substr(0, mark))) continue;
    const std::string path = (fs::path(folder) / found).string();
    const int descriptor = open_unlocked(path);
    if (descriptor < 0) continue;
    ::unlink(path.c_str());
    ::close(descriptor);
  }
} catch (const IoError&) {
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  const NoWriteSignals none;
  // One call moves at most 2 GiB.
  constexpr size_t kPiece = size_t{1} << 30;
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor_, bytes.data(), std::min(bytes.size(), kPiece));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail("cannot write", errno);
    bytes = bytes.subspan(static_cast<size_t>(count));
    written_ += static_cast<uint64_t>(count);
  }
  constexpr uint64_t kWorthwhile = uint64_t{8} << 20;
  if (written_ - handed_over_ < kWorthwhile) return;
  // A hint: commit() flushes whatever comes of it.
  ::sync_file_range(descriptor_, static_cast<off64_t>(handed_over_),
                    static_cast<off64_t>(written_ - handed_over_), SYNC_FILE_RANGE_WRITE);
  handed_over_ = written_;
}

void AtomicFile::rewrite(uint64_t position, std::span<const std::byte> bytes) {
  const NoWriteSignals none;
  while (!bytes.empty()) {
    const ssize_t count = ::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(position));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail("cannot write", errno);
    bytes = bytes.subspan(static_cast<size_t>(count));
    position += static_cast<uint64_t>(count);
  }
}

void AtomicFile::commit() {
  if (::fsync(descriptor_) != 0) fail("cannot write", errno);
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail("cannot replace", errno);
  temporary_.clear();
  // Without this a power cut may bring the old file back: whole, so a refusal (some file systems) is no
  // error.
  const int folder = ::open(parent_of(target_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;
  const int code = ::fsync(folder) == 0 ? 0 : errno;
  ::close(folder);
  if (code == EIO || code == ENOSPC) fail("cannot flush the folder of", code);
}

void write_file_atomically(const std::string& path, std::span<const std::byte> bytes) {
  AtomicFile file(path);
  file.write(bytes);
  file.commit();
}

void write_file_atomically(const std::string& path, const std::function<void(const std::string&)>& fill) {
  AtomicFile file(path);
  fill(file.temporary_path());
  file.commit();
}

}  // namespace nyala
