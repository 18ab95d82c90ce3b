#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include <nyala/strategies/parameter_server/server_rule.h>

namespace nyala::detail {

/// A rule of a parameter server, and what it was made of.
struct HeldRule {
  std::unique_ptr<ServerRule> rule;
  bool is_new = false;  ///< nothing was applied by it yet
  std::string text;
  std::vector<std::string> names;  ///< of its variables, in their order
  std::set<std::string> has;       ///< the same
  std::vector<std::string> no_decay;
};

}  // namespace nyala::detail
