#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include <nyala/strategies/parameter_server/row_table.h>
#include <nyala/strategies/parameter_server/server_snapshot.h>

namespace nyala::detail {

/// The tables of a parameter server, which answers for them under its lock.
class RowTables {
 public:
  using Bytes = std::vector<std::byte>;
  explicit RowTables(RowFillerReader read_filler) : read_filler_(std::move(read_filler)) {}

  bool contains(const std::string& name) const { return tables_.contains(name); }
  /// Throw NotFoundError and ShapeError for a table that is not there, or another one.
  void check(const ParameterEntry& entry) const;
  /// True for the first of those who come with it.
  bool create(const ParameterRequest& request);
  /// From now on those of the entries that are tables change by rows as `rule` does.
  void set_rule(const ParameterRequest& request, const ServerRule& rule);
  void set_rate(double rate) { count_.set_rate(rate); }
  void set_step(int64_t step, double rate);

  /// As if none had been made.
  void clear();

  /// The bytes of the rows of a request whose payload are ids.
  Tensor pull(const ParameterRequest& request, const Bytes& payload);
  /// Throws for entries that update() could not apply; `payload` from `offset` on has theirs.
  void check_update(const ParameterRequest& request, const Bytes& payload, uint64_t offset) const;
  void update(const ParameterRequest& request, const Bytes& payload, uint64_t offset);
  void assign(const ParameterRequest& request, const Bytes& payload);

  /// "; 1 table of 4096 bytes, 7 updates", nothing where there is none.
  std::string describe() const;
  void write(ServerSnapshot& snapshot, Tensors& values) const;
  /// Takes its values from `next` on. Rules follow by set_rule(): add_entries() names the tables of one.
  void read(const ServerSnapshot& snapshot, const Tensors& values, size_t next);
  void add_entries(ParameterRequest& of_rule) const;

 private:
  RowTable& at(const ParameterEntry& entry);
  const RowTable& at(const ParameterEntry& entry) const;

  RowFillerReader read_filler_;
  std::map<std::string, RowTable> tables_;
  std::map<std::string, std::string> rules_;  // text of the rule that slots are of, by table
  UpdateCount count_;
};

}  // namespace nyala::detail
