#pragma once

#include <cerrno>
#include <chrono>
#include <csignal>
#include <spawn.h>
#include <stdexcept>
#include <string>
#include <sys/wait.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <vector>

namespace nyala {

/// One of the programs of tests/programs as a process of its own; killed if the test ends before it.
class ChildProcess {
 public:
  ChildProcess(const std::string& program, const std::vector<std::string>& arguments) {
    const std::string path = NYALA_TEST_PROGRAMS "/" + program;
    std::vector<char*> list = {const_cast<char*>(path.c_str())};
    for (const std::string& argument : arguments) list.push_back(const_cast<char*>(argument.c_str()));
    list.push_back(nullptr);
    if (const int error = ::posix_spawn(&id_, path.c_str(), nullptr, nullptr, list.data(), ::environ))
      throw std::system_error(error, std::generic_category(),
                              path + " (build the target program_" + program + ")");
  }
  ~ChildProcess() {
    if (id_ > 0) kill();
  }
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  /// kill -9. False if the process had ended before.
  bool kill() {
    ::kill(id_, SIGKILL);
    const int status = wait_status();
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  }
  /// Whether it ends by itself within that time; its exit status is then lost.
  bool ends_within(std::chrono::microseconds time) {
    const auto deadline = std::chrono::steady_clock::now() + time;
    while (std::chrono::steady_clock::now() < deadline) {
      if (::waitpid(id_, nullptr, WNOHANG) == id_) {
        id_ = 0;
        return true;
      }
      std::this_thread::sleep_for(std::chrono::microseconds(300));
    }
    return false;
  }
  /// Waits for the end and returns the exit status, -1 after a signal.
  int wait() {
    const int status = wait_status();
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  int wait_status() {
    int status = 0;
    while (::waitpid(id_, &status, 0) < 0 && errno == EINTR) {
    }
    id_ = 0;
    return status;
  }

  pid_t id_ = 0;
};

}  // namespace nyala
