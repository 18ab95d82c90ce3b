#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include <nyala/api/saving/file_bytes.h>
#include <nyala/backend/core/error.h>

namespace nyala {
namespace {

[[noreturn]] void throw_system_error(const std::string& what, const std::string& path, int code) {
  throw IoError(what + " '" + path + "': " + std::generic_category().message(code));
}

}  // namespace

std::shared_ptr<const FileBytes> FileBytes::open(const std::string& path) {
  // O_NONBLOCK: opening a pipe without a writer would wait for one.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) throw_system_error("cannot open", path, errno);
  return std::shared_ptr<const FileBytes>(new FileBytes(path, descriptor));
}

FileBytes::FileBytes(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {
  try {
    struct stat status {};
    if (fstat(descriptor_, &status) != 0) throw_system_error("cannot read", path_, errno);
    if (!S_ISREG(status.st_mode)) throw IoError("cannot read '" + path_ + "': it is not a regular file");
    const auto size = static_cast<size_t>(status.st_size);
    if (size > kMaxCopied) {
      map_all(size);
    } else {
      read_all(size);
    }
  } catch (...) {
    if (descriptor_ >= 0) ::close(descriptor_);
    throw;
  }
}

FileBytes::~FileBytes() {
  if (descriptor_ < 0) return;
  ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
  ::close(descriptor_);
}

void FileBytes::read_all(size_t size) {
  copy_.resize(size);
  size_t done = 0;
  while (done < size) {
    const ssize_t count = ::read(descriptor_, copy_.data() + done, size - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw_system_error("cannot read", path_, errno);
    if (count == 0) throw IoError("cannot read '" + path_ + "': it became shorter while it was read");
    done += static_cast<size_t>(count);
  }
  ::close(descriptor_);
  descriptor_ = -1;
  bytes_ = copy_;
}

void FileBytes::map_all(size_t size) {
  // A tensor that is a window on the file may be written to: the page becomes the process's own then.
  void* address = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, descriptor_, 0);
  if (address == MAP_FAILED) throw_system_error("cannot map", path_, errno);
  bytes_ = {static_cast<const std::byte*>(address), size};
}

void FileBytes::read(std::span<const std::byte> part, std::span<std::byte> out) const {
  if (!is_mapped()) {
    std::copy(part.begin(), part.end(), out.begin());
    return;
  }
  auto position = static_cast<off_t>(part.data() - bytes_.data());
  while (!out.empty()) {
    const ssize_t count = ::pread(descriptor_, out.data(), std::min(out.size(), size_t{1} << 30), position);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw_system_error("cannot read", path_, errno);
    if (count == 0) throw IoError("cannot read '" + path_ + "': it became shorter while it was in use");
    out = out.subspan(static_cast<size_t>(count));
    position += count;
  }
}

void FileBytes::forget(std::span<const std::byte> part) const noexcept {
  if (descriptor_ < 0 || part.empty()) return;
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const auto first = static_cast<size_t>(part.data() - bytes_.data()) / page * page;
  const size_t last = static_cast<size_t>(part.data() - bytes_.data()) + part.size();
  // Nobody writes to the mapping, so nothing is lost; a refusal costs memory only.
  ::madvise(const_cast<std::byte*>(bytes_.data()) + first, last - first, MADV_DONTNEED);
}

void FileBytes::check_present() const {
  if (descriptor_ < 0) return;
  struct stat status {};
  if (fstat(descriptor_, &status) != 0) throw_system_error("cannot read", path_, errno);
  if (static_cast<size_t>(status.st_size) < bytes_.size())
    throw IoError("cannot read '" + path_ + "': it became shorter (" + std::to_string(status.st_size) +
                  " of " + std::to_string(bytes_.size()) + " bytes) while it was in use");
}

}  // namespace nyala
