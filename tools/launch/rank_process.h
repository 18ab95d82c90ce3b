#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace nyala::tools {

struct ProcessStart {
  std::vector<std::string> arguments;
  std::vector<std::string> environment;  ///< "NAME=value"
  /// What a pipe in place of /dev/null begins with, which ends with the launcher.
  std::optional<std::string> input = {};
};

/// A process in a group of its own, whose output can be read here. It is killed by the kernel when the thread
/// ends that started it, with signals as a shell would give them.
class RankProcess {
 public:
  /// Throws IoError naming the program where it cannot be run.
  explicit RankProcess(const ProcessStart& start);
  ~RankProcess();
  RankProcess(const RankProcess&) = delete;
  RankProcess& operator=(const RankProcess&) = delete;

  pid_t id() const { return id_; }
  int output() const { return output_; }  ///< where its standard output is read, without waiting
  int errors() const { return errors_; }

  /// Whether a process of the group is stopped (SIGSTOP), so that it does nothing till it is told to go on.
  bool is_stopped() const;
  /// To all processes of the group.
  void signal(int number) const;
  /// Once it is known to have ended: ends what is left of its group; its status as waitpid() gives it.
  int collect();

 private:
  void close_all();

  pid_t id_ = 0;
  int input_ = -1, output_ = -1, errors_ = -1;
};

}  // namespace nyala::tools
