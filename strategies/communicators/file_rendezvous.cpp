#include <nyala/strategies/communicators/file_rendezvous.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <system_error>
#include <thread>

#include <nyala/backend/core/c_locale_text.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/core/write_signals.h>
#include <nyala/files/base/file_errors.h>

namespace nyala {

namespace {

std::string file_of_key(std::string_view key) {
  detail::check_rendezvous_key(key);
  std::string name = "key-" + std::string(key);
  std::replace(name.begin(), name.end(), '/', '+');
  return name;
}

std::string reason_of(int error) { return std::generic_category().message(error); }

bool write_whole(int file, std::string_view text) {
  const NoWriteSignals none;
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

}  // namespace

FileRendezvous::FileRendezvous(std::string folder) : folder_(std::move(folder)) {
  (void)checked_path(folder_);
  descriptor_ = ::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor_ < 0)
    throw_file_error("FileRendezvous: cannot open the folder " + detail::in_quotes(folder_), errno);
  struct stat about {};
  const bool known = ::fstat(descriptor_, &about) == 0;
  if (known && about.st_uid == ::geteuid() && (about.st_mode & (S_IWGRP | S_IWOTH)) == 0) return;
  ::close(descriptor_);
  throw InvalidArgumentError("FileRendezvous: the folder " + detail::in_quotes(folder_) +
                             " has to belong to this user and be writable by nobody else (chmod 700)");
}

FileRendezvous::~FileRendezvous() { ::close(descriptor_); }

void FileRendezvous::refuse(const std::string& what) const {
  throw CommunicationError("FileRendezvous " + detail::in_quotes(folder_) + ": " + what);
}

void FileRendezvous::set(std::string_view key, std::string_view value) {
  detail::check_rendezvous_value(key, value);
  static std::atomic<uint64_t> written{0};
  const std::string name = file_of_key(key);
  const std::string beside = "new-" + std::to_string(::getpid()) + "-" + std::to_string(written++);
  const int file =
      ::openat(descriptor_, beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (file < 0) refuse("cannot write: " + reason_of(errno));
  bool done = write_whole(file, value);
  int error = errno;
  ::close(file);
  if (done && ::renameat(descriptor_, beside.c_str(), descriptor_, name.c_str()) != 0)
    done = false, error = errno;
  if (done) return;
  ::unlinkat(descriptor_, beside.c_str(), 0);
  refuse("cannot write '" + std::string(key) + "': " + reason_of(error));
}

std::optional<std::string> FileRendezvous::get(std::string_view key) {
  const int file =
      ::openat(descriptor_, file_of_key(key).c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (file < 0 && errno == ENOENT) return std::nullopt;
  if (file < 0) refuse("cannot read '" + std::string(key) + "': " + reason_of(errno));
  std::string value(kMaxValue + 1, '\0');
  size_t size = 0;
  ssize_t bytes = 0;
  while (size < value.size() && (bytes = ::read(file, value.data() + size, value.size() - size)) > 0)
    size += static_cast<size_t>(bytes);
  const int error = errno;
  ::close(file);
  if (bytes < 0) refuse("cannot read '" + std::string(key) + "': " + reason_of(error));
  if (size > kMaxValue) refuse("'" + std::string(key) + "' is larger than any value");
  value.resize(size);
  return value;
}

std::string FileRendezvous::wait(std::string_view key, std::chrono::milliseconds timeout) {
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + timeout;
  for (auto pause = std::chrono::microseconds(500);;
       pause = std::min(pause * 2, std::chrono::microseconds(20'000))) {
    if (auto value = get(key)) return *std::move(value);
    if (Clock::now() >= deadline) {
      const std::chrono::duration<double> waited = timeout;
      throw TimeoutError("FileRendezvous " + detail::in_quotes(folder_) + ": nobody set '" +
                         std::string(key) + "' within " + detail::number_text(waited.count()) + " s");
    }
    std::this_thread::sleep_for(std::min<Clock::duration>(pause, deadline - Clock::now()));
  }
}

}  // namespace nyala
