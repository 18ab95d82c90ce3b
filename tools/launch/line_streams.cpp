#include <nyala/tools/launch/line_streams.h>

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

namespace nyala::tools {

void LineSink::write_some() {
  constexpr size_t kPiece = 4096;  // PIPE_BUF: a pipe that poll() calls writable takes as much
  const ssize_t size = ::write(stream_, waiting_.data(), std::min(kPiece, waiting_.size()));
  if (size >= 0) {
    waiting_.erase(0, static_cast<size_t>(size));
  } else if (errno != EINTR && errno != EAGAIN) {
    broken_ = true;
    waiting_.clear();
  }
}

LineSource::~LineSource() {
  if (log_ >= 0) ::close(log_);
}

bool LineSource::read(int stream) {
  char bytes[65536];
  const ssize_t size = ::read(stream, bytes, sizeof bytes);
  if (size < 0) return errno == EINTR || errno == EAGAIN;
  take({bytes, static_cast<size_t>(size)});
  return size > 0;
}

void LineSource::take(std::string_view bytes) {
  constexpr size_t kLongest = 1 << 20;
  for (std::string_view rest = bytes; log_ >= 0 && !rest.empty();) {
    const ssize_t size = ::write(log_, rest.data(), rest.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0)
      end_log(size < 0 ? errno : ENOSPC);
    else
      rest.remove_prefix(static_cast<size_t>(size));
  }
  begun_ += bytes;
  size_t begin = 0;
  for (size_t end; (end = begun_.find('\n', begin)) != std::string::npos; begin = end + 1)
    sink_.add(prefix_ + begun_.substr(begin, end + 1 - begin));
  begun_.erase(0, begin);
  if (begun_.size() > kLongest) finish();
}

/// A full disk ends no training.
void LineSource::end_log(int error) {
  ::close(std::exchange(log_, -1));
  trouble_.add("nyala launch: " + prefix_ +
               "cannot write to the log, which ends here: " + std::generic_category().message(error) + "\n");
}

void LineSource::finish() {
  if (!begun_.empty()) sink_.add(prefix_ + begun_ + "\n");
  begun_.clear();
}

}  // namespace nyala::tools
