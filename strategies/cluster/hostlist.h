#pragma once

#include <string>
#include <vector>

namespace nyala::detail {

/// Slurm's short form of many host names: "gpu[01-03,7],login1" is gpu01 gpu02 gpu03 gpu7 login1,
/// "r[1-2]n[08-09]" is four names. A number keeps the zeros of the first one of its range. Throws
/// InvalidArgumentError naming `where`, the byte and the reason for what is no such list, and for more than
/// 65536 hosts.
std::vector<std::string> expand_hostlist(const std::string& text, const std::string& where);

/// Slurm's tasks of each node: "2(x3),1" is 2 2 2 1. Throws as expand_hostlist().
std::vector<int> expand_tasks_per_node(const std::string& text, const std::string& where);

}  // namespace nyala::detail
