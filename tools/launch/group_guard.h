#pragma once

#include <sys/types.h>

#include <string>

namespace nyala::tools {

/// A small process that kills groups of processes, and removes a temporary folder of theirs, when this one is
/// gone, whatever ended it: the kernel's signal at a parent's death (RankProcess) reaches the ranks, but not
/// what they started.
class GroupGuard {
 public:
  /// Before there are threads; `folder` may be empty. Throws IoError where there is no process left.
  explicit GroupGuard(const std::string& folder);
  ~GroupGuard();
  GroupGuard(const GroupGuard&) = delete;
  GroupGuard& operator=(const GroupGuard&) = delete;

  void watch(pid_t group) const { send(group); }
  /// The group has ended.
  void forget(pid_t group) const { send(-group); }

 private:
  void send(pid_t message) const;

  pid_t id_ = 0;
  int messages_ = -1;
};

}  // namespace nyala::tools
