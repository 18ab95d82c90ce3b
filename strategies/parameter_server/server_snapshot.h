#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <nyala/backend/core/tensor.h>
#include <nyala/strategies/parameter_server/server_message.h>

namespace nyala::detail {

/// What a parameter server is between two exchanges, without the elements of its tensors.
struct ServerSnapshot {
  uint64_t job = 0;  ///< ParameterRequest::job of the exchanges and the mark
  std::set<uint64_t> past_jobs = {};
  uint64_t version = 0;
  uint64_t mark = 0;  ///< the chief's number of it (RangeDispenser::mark())
  struct Rule {
    std::string name, text;
    std::vector<std::string> variables = {}, no_decay = {};
    std::vector<ParameterEntry> state = {};
  };
  std::vector<Rule> rules = {};
  /// First and last of each run of exchanges that were applied, by process.
  std::map<uint64_t, std::map<uint64_t, uint64_t>> applied = {};
  std::vector<ParameterEntry> variables = {};
  /// Each table, and behind it without a name its slots and the next update of each row; the texts of their
  /// rules, by table.
  std::vector<ParameterEntry> tables = {};
  std::vector<std::string> table_rules = {};
  int64_t table_step = 0;
  std::vector<std::pair<int64_t, double>> table_rates = {};
};

/// Writes it beside and renames it. `values` are those of variables, rules and tables, and are not copied.
/// Throws IoError.
void write_server_snapshot(const std::string& path, const ServerSnapshot& snapshot, const Tensors& values);

/// Returns the values. Throws IoError, FileFormatError for a file that is none or is damaged.
Tensors read_server_snapshot(const std::string& path, ServerSnapshot& snapshot);

}  // namespace nyala::detail
