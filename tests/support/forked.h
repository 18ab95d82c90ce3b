#pragma once

#include <csignal>
#include <cstdio>
#include <exception>
#include <string>

#include <sys/wait.h>
#include <unistd.h>

#include <nyala/backend/core/error.h>

namespace nyala {

/// What ended a child.
struct ForkedEnd {
  int code = -1;     // of its exit; -1 after a signal
  int signal = 0;    // SIGALRM: it hung
  std::string text;  // that of the StateError with which the work ended, if one did
  bool worked() const { return code == 0; }
  bool refused() const { return code == 3; }
};

/// Calls bool work() in a child of fork() that has `seconds`: it exits with 0 where that is true, 1 where
/// false, 3 after a StateError, 4 after anything else.
template <class Work>
ForkedEnd in_forked_child(Work&& work, unsigned seconds = 60) {
  int ends[2];
  if (::pipe(ends) != 0) throw StateError("no pipe");
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGALRM, SIG_DFL);
    ::alarm(seconds);
    int code = 4;
    std::string text;
    try {
      code = work() ? 0 : 1;
    } catch (const StateError& error) {
      code = 3;
      text = error.what();
    } catch (const std::exception& error) {
      text = error.what();
    }
    [[maybe_unused]] const ssize_t sent = ::write(ends[1], text.data(), text.size());
    ::_exit(code);
  }
  ::close(ends[1]);
  ForkedEnd end;
  char text[4096];
  for (ssize_t size; (size = ::read(ends[0], text, sizeof text)) > 0;)
    end.text.append(text, static_cast<size_t>(size));
  ::close(ends[0]);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
  }
  if (WIFEXITED(status)) end.code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) end.signal = WTERMSIG(status);
  return end;
}

}  // namespace nyala
