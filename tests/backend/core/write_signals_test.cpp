// In forked children, where signals do what the test says.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <functional>

#include <gtest/gtest.h>

#include <nyala/backend/core/write_signals.h>
#include <nyala/tests/support/scratch_folder.h>

namespace nyala::write_signals_test {
namespace {

volatile sig_atomic_t g_seen = 0;

/// The status with which a child ends that runs `work`; the number of the signal that ended it, below 0.
int in_child(const std::function<int()>& work) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(work());
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/// errno of a write to a pipe that nobody reads.
int broken_pipe() {
  int ends[2];
  if (::pipe(ends) != 0) return -1;
  ::close(ends[0]);
  const int code = ::write(ends[1], "x", 1) < 0 ? errno : 0;
  ::close(ends[1]);
  return code;
}

/// errno of a write beyond the limit of a file's size.
int too_large(const std::string& path) {
  const rlimit limit{10, RLIM_INFINITY};
  ::setrlimit(RLIMIT_FSIZE, &limit);
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT, 0600);
  const int code = ::pwrite(file, "x", 1, 100) < 0 ? errno : 0;
  ::close(file);
  return code;
}

TEST(NoWriteSignals, WritesFailAndTheProcessLives) {
  const ScratchFolder folder("write_signals");
  EXPECT_EQ(in_child([] { return broken_pipe(); }), -SIGPIPE) << "what the test is about";
  EXPECT_EQ(in_child([] {
              {
                const NoWriteSignals none;
                errno = 0;
                if (broken_pipe() != EPIPE || broken_pipe() != EPIPE) return 1;
              }
              if (errno != EPIPE) return 2;
              sigset_t left, mask;
              ::sigpending(&left), ::pthread_sigmask(SIG_BLOCK, nullptr, &mask);
              return ::sigismember(&left, SIGPIPE) + ::sigismember(&mask, SIGPIPE);
            }),
            0);
  EXPECT_EQ(in_child([&] {
              const NoWriteSignals none;
              const NoWriteSignals inner;
              return too_large(folder.file("x")) == EFBIG ? 0 : 1;
            }),
            0);
  EXPECT_EQ(in_child([] {
              { const NoWriteSignals none; }
              return broken_pipe();
            }),
            -SIGPIPE)
      << "as before";
}

TEST(NoWriteSignals, OnesOfOthersAndHandlersStay) {
  EXPECT_EQ(in_child([] {
              ::signal(SIGPIPE, [](int) { g_seen = g_seen + 1; });
              {
                const NoWriteSignals none;
                if (broken_pipe() != EPIPE || g_seen != 0) return 1;
              }
              if (g_seen != 0) return 2;  // ours
              const pid_t self = ::getpid();
              {
                const NoWriteSignals none;
                const pid_t other = ::fork();
                if (other == 0) ::_exit(::kill(self, SIGPIPE));
                ::waitpid(other, nullptr, 0);
              }
              if (g_seen != 1) return 3;  // another process'
              return broken_pipe() == EPIPE && g_seen == 2 ? 0 : 4;
            }),
            0);
}

TEST(NoWriteSignals, WhatWaitedBeforeStillWaits) {
  EXPECT_EQ(in_child([] {
              sigset_t pipe, left;
              ::sigemptyset(&pipe), ::sigaddset(&pipe, SIGPIPE);
              ::pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
              ::raise(SIGPIPE);
              {
                const NoWriteSignals none;
                broken_pipe();
              }
              ::sigpending(&left);
              return ::sigismember(&left, SIGPIPE) == 1 ? 0 : 1;
            }),
            0);
}

}  // namespace
}  // namespace nyala::write_signals_test
