#include <nyala/strategies/communicators/process_watch.h>

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace nyala::detail {

ProcessWatch::~ProcessWatch() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void ProcessWatch::watch(int process) {
  if (watches() || process <= 0) return;
  process_ = process;
  descriptor_ = static_cast<int>(::syscall(SYS_pidfd_open, process, 0));
  ended_ = descriptor_ < 0 && errno == ESRCH;
}

bool ProcessWatch::ended() {
  if (ended_ || !watches()) return ended_;
  if (descriptor_ >= 0) {
    pollfd one{descriptor_, POLLIN, 0};
    ended_ = ::poll(&one, 1, 0) > 0;
  } else {
    ended_ = ::kill(process_, 0) != 0 && errno == ESRCH;
  }
  return ended_;
}

}  // namespace nyala::detail
