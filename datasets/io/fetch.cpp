// A file is fetched into NAME.part under a lock (flock), so two programs do not write the same file. What is
// there already is kept and the rest is asked for by a range, unless there is no digest to tell that both
// belong together. The digest is checked before rename gives the file its name; a resumed file that fails it
// is fetched once more from the start.
#include <nyala/datasets/io/fetch.h>

#include <cerrno>
#include <cstring>
#include <exception>
#include <fcntl.h>
#include <memory>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <curl/curl.h>

#include <nyala/backend/core/error.h>
#include <nyala/backend/core/write_signals.h>
#include <nyala/datasets/io/file_digest.h>
#include <nyala/files/base/file_errors.h>

namespace nyala::datasets {

namespace {

constexpr long kConnectSeconds = 20;
constexpr long kStallSeconds = 60;

/// The open, locked `x.part`.
class PartFile {
 public:
  explicit PartFile(std::filesystem::path path) : path_(std::move(path)) { open_and_lock(); }
  ~PartFile() { ::close(file_); }
  PartFile(const PartFile&) = delete;
  PartFile& operator=(const PartFile&) = delete;

  const std::filesystem::path& path() const { return path_; }

  uint64_t size() const {
    struct stat info {};
    if (::fstat(file_, &info) != 0) fail("cannot read the size");
    return static_cast<uint64_t>(info.st_size);
  }

  void clear() {
    if (::ftruncate(file_, 0) != 0) fail("cannot empty the file");
  }

  bool append(const char* bytes, size_t count) {
    while (count > 0) {
      const ssize_t written = ::write(file_, bytes, count);
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) return false;
      bytes += written;
      count -= static_cast<size_t>(written);
    }
    return true;
  }

  void become(const std::filesystem::path& target) {
    if (::fsync(file_) != 0) fail("cannot write the file to the disk");
    if (::rename(path_.c_str(), target.c_str()) != 0) fail("cannot rename the file to " + target.string());
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw_file_error(path_.string() + ": " + what, errno);
  }

  /// Another process may have renamed the part while this one waited: then the lock is on the finished
  /// file, and a new part is made, which the caller finds unnecessary.
  void open_and_lock() {
    for (;;) {
      file_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
      if (file_ < 0) fail("cannot create the file");
      while (::flock(file_, LOCK_EX) != 0)
        if (errno != EINTR) fail("cannot lock the file");
      struct stat mine {
      }, there{};
      const bool same = ::fstat(file_, &mine) == 0 && ::stat(path_.c_str(), &there) == 0 &&
                        mine.st_ino == there.st_ino && mine.st_dev == there.st_dev;
      if (same) return;
      ::close(file_);
    }
  }

  std::filesystem::path path_;
  int file_ = -1;
};

struct Transfer {
  const FetchRequest* request;
  PartFile* part;
  uint64_t offset = 0;
  int write_errno = 0;
  std::exception_ptr thrown = {};
};

size_t on_bytes(char* bytes, size_t size, size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  if (transfer.part->append(bytes, size * count)) return size * count;
  transfer.write_errno = errno;
  return 0;
}

int on_progress(void* user, curl_off_t total, curl_off_t now, curl_off_t, curl_off_t) {
  auto& transfer = *static_cast<Transfer*>(user);
  if (!transfer.request->progress) return 0;
  try {  // an exception must not pass through the C library
    const uint64_t all = total > 0 ? transfer.offset + static_cast<uint64_t>(total) : 0;
    transfer.request->progress(transfer.offset + static_cast<uint64_t>(now), all);
    return 0;
  } catch (...) {
    transfer.thrown = std::current_exception();
    return 1;
  }
}

using Curl = std::unique_ptr<CURL, void (*)(CURL*)>;

Curl make_handle() {
  static const CURLcode ready = curl_global_init(CURL_GLOBAL_DEFAULT);
  Curl handle(ready == CURLE_OK ? curl_easy_init() : nullptr, curl_easy_cleanup);
  if (!handle) throw IoError("cannot start the download library (libcurl)");
  return handle;
}

/// True when the rest arrived; false when the server does not continue at the part's end.
bool transfer_rest(const FetchRequest& request, PartFile& part) {
  const Curl handle = make_handle();
  CURL* curl = handle.get();
  Transfer transfer{&request, &part};
  transfer.offset = part.size();
  char reason[CURL_ERROR_SIZE] = "";
  curl_easy_setopt(curl, CURLOPT_URL, request.url.c_str());
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, reason);
  curl_easy_setopt(curl, CURLOPT_USERAGENT, "nyala");
  curl_easy_setopt(curl, CURLOPT_FAILONERROR, 1L);
  curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 1L);
  curl_easy_setopt(curl, CURLOPT_MAXREDIRS, 10L);
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, kStallSeconds);
  curl_easy_setopt(curl, CURLOPT_RESUME_FROM_LARGE, static_cast<curl_off_t>(transfer.offset));
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_bytes);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &transfer);
  curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, on_progress);
  curl_easy_setopt(curl, CURLOPT_XFERINFODATA, &transfer);
  const NoWriteSignals none;  // of the file, and of a server that has gone
  const CURLcode status = curl_easy_perform(curl);
  if (transfer.thrown) std::rethrow_exception(transfer.thrown);
  if (status == CURLE_OK) return true;
  long response = 0;
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &response);
  const bool no_resume =
      status == CURLE_RANGE_ERROR || status == CURLE_BAD_DOWNLOAD_RESUME || response == 416;
  if (transfer.offset > 0 && no_resume) return false;
  const std::string cause = transfer.write_errno ? std::string("cannot write ") + part.path().string() +
                                                       ": " + std::strerror(transfer.write_errno)
                            : reason[0] ? std::string(reason)
                                        : std::string(curl_easy_strerror(status));
  throw IoError("cannot download " + request.url + " to " + request.path.string() + ": " + cause);
}

/// Lower-case hexadecimal digits.
bool is_digest(const std::string& text, size_t digits) {
  return text.size() == digits && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

/// The one digest that the request names; empty where it is unverified.
const std::string& expected_digest(const FetchRequest& request) {
  return request.sha256.empty() ? request.md5 : request.sha256;
}

void check_request(const FetchRequest& request) {
  const bool by_md5 = request.sha256.empty() && !request.md5.empty();
  if (by_md5 && !is_digest(request.md5, 32))
    throw InvalidArgumentError("fetch of " + request.url +
                               ": expected an MD5 of 32 lower-case hexadecimal digits, received '" +
                               request.md5 + "'");
  if (by_md5 || (request.unverified && request.sha256.empty())) return;
  if (!is_digest(request.sha256, 64))
    throw InvalidArgumentError("fetch of " + request.url +
                               ": expected a SHA-256 of 64 lower-case hexadecimal " + "digits, received '" +
                               request.sha256 + "'");
}

}  // namespace

void fetch(const FetchRequest& request) {
  check_request(request);
  (void)checked_path(request.path.string());
  std::error_code code;
  if (std::filesystem::exists(request.path, code)) return;
  std::filesystem::create_directories(request.path.parent_path(), code);
  if (code) throw_file_error(request.path.parent_path().string() + ": cannot make the folder", code.value());
  PartFile part(request.path.string() + ".part");
  if (std::filesystem::exists(request.path, code)) {  // another process was faster
    std::filesystem::remove(part.path(), code);
    return;
  }
  const std::string& expected = expected_digest(request);
  std::string found;
  // Without a digest nobody can tell that an earlier part belongs to what is there now.
  for (bool resumed = part.size() > 0 && !request.unverified;; resumed = false) {
    if (!resumed) part.clear();
    const bool whole = transfer_rest(request, part);
    if (whole) found = digest_like(expected, part.path());
    if (whole && found == expected) return part.become(request.path);
    if (!resumed) break;
  }
  const uint64_t bytes = part.size();
  std::filesystem::remove(part.path(), code);
  throw FileFormatError(request.path.string() + ": expected " +
                        (expected.size() == 64 ? "SHA-256 " : "MD5 ") + expected + ", found " + found +
                        " in the " + std::to_string(bytes) + " bytes downloaded from " + request.url);
}

}  // namespace nyala::datasets
