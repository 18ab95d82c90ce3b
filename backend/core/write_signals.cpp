// The kernel sends both to the thread that writes. There they are blocked, so that they wait, and taken away
// before the mask is what it was. The sender's number tells them from those of other processes, which are
// sent anew.
#include <nyala/backend/core/write_signals.h>

#include <cerrno>
#include <ctime>
#include <unistd.h>

namespace nyala {

namespace {

constexpr int kSignals[] = {SIGXFSZ, SIGPIPE};

sigset_t set_of(const int* begin, const int* end) {
  sigset_t set;
  ::sigemptyset(&set);
  for (; begin != end; ++begin) ::sigaddset(&set, *begin);
  return set;
}

/// Takes a `signal` that waits away; whether it came from another process.
bool take(int signal) {
  const sigset_t one = set_of(&signal, &signal + 1);
  const timespec at_once{};
  siginfo_t info{};
  int taken = -1;
  while ((taken = ::sigtimedwait(&one, &info, &at_once)) < 0 && errno == EINTR) continue;
  return taken == signal && info.si_code == SI_USER && info.si_pid != ::getpid();
}

}  // namespace

NoWriteSignals::NoWriteSignals() noexcept {
  const sigset_t both = set_of(kSignals, kSignals + 2);
  ::sigemptyset(&pending_);
  ::sigpending(&pending_);
  ::pthread_sigmask(SIG_BLOCK, &both, &before_);
}

NoWriteSignals::~NoWriteSignals() {
  const int error = errno;
  bool foreign[2] = {};
  sigset_t now;
  ::sigemptyset(&now);
  ::sigpending(&now);
  for (size_t i = 0; i < 2; ++i)
    if (::sigismember(&now, kSignals[i]) == 1 && ::sigismember(&pending_, kSignals[i]) == 0)
      foreign[i] = take(kSignals[i]);
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  for (size_t i = 0; i < 2; ++i)
    if (foreign[i]) ::kill(::getpid(), kSignals[i]);
  errno = error;
}

}  // namespace nyala
