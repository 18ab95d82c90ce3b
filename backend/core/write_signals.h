#pragma once

#include <csignal>

namespace nyala {

/// While it lives, writing on this thread raises no SIGXFSZ (a file beyond RLIMIT_FSIZE) and no SIGPIPE (a
/// reader that has gone), which end a program by default: the call fails with EFBIG or EPIPE instead. What
/// the program does with these signals stays as it is, and those that somebody else sends meanwhile arrive
/// afterwards. Keeps errno. To be destroyed on its thread; may be nested.
class NoWriteSignals {
 public:
  NoWriteSignals() noexcept;
  ~NoWriteSignals();
  NoWriteSignals(const NoWriteSignals&) = delete;
  NoWriteSignals& operator=(const NoWriteSignals&) = delete;

 private:
  sigset_t before_;   // the thread's mask
  sigset_t pending_;  // what waited already
};

}  // namespace nyala
