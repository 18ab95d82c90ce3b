#pragma once

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace nyala {

/// How a run of the `nyala` command ended.
struct ToolRun {
  int status = -1;  ///< exit status, -1 after a signal
  std::string out = {}, err = {};

  std::string last_line() const {
    const std::string text = out.substr(0, out.find_last_not_of('\n') + 1);
    return text.substr(text.rfind('\n') + 1);
  }
};

/// The `nyala` command as a process of its own; its streams go to files in `folder`. Killed if the test ends
/// before it.
class NyalaProcess {
 public:
  /// `output`: where the standard output goes; empty: a file that wait() reads.
  NyalaProcess(const std::string& folder, const std::vector<std::string>& arguments,
               const std::string& output = "")
      : reads_output_(output.empty()),
        out_(output.empty() ? folder + "/stdout" : output),
        err_(folder + "/stderr") {
    const std::string program = NYALA_BINARY_DIR "/tools/nyala";
    std::vector<char*> list = {const_cast<char*>(program.c_str())};
    for (const std::string& argument : arguments) list.push_back(const_cast<char*>(argument.c_str()));
    list.push_back(nullptr);
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 1, out_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    posix_spawn_file_actions_addopen(&files, 2, err_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t heard;  // whatever the process that runs the tests was told to ignore
    sigemptyset(&heard);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&heard, signal);
    posix_spawnattr_setsigdefault(&attributes, &heard);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    const int error = ::posix_spawn(&id_, program.c_str(), &files, &attributes, list.data(), ::environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    if (error) throw std::runtime_error("cannot run " + program + " (build the target nyala_command)");
  }
  ~NyalaProcess() {
    if (id_ <= 0) return;
    ::kill(id_, SIGKILL);
    wait();
  }
  NyalaProcess(const NyalaProcess&) = delete;
  NyalaProcess& operator=(const NyalaProcess&) = delete;

  void send(int signal) const { ::kill(id_, signal); }
  /// Waits until the standard output has more than `bytes` bytes; false after that many seconds.
  bool has_written(size_t bytes, int seconds) const {
    for (int i = 0; i < seconds * 100; ++i) {
      if (read(out_).size() > bytes) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }
  ToolRun wait() {
    int status = 0;
    while (::waitpid(id_, &status, 0) < 0 && errno == EINTR) {
    }
    id_ = 0;
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, reads_output_ ? read(out_) : "", read(err_)};
  }

 private:
  static std::string read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  bool reads_output_;
  std::string out_, err_;
  pid_t id_ = 0;
};

}  // namespace nyala
