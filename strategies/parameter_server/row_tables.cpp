#include <nyala/strategies/parameter_server/row_tables.h>

#include <cstring>

#include <nyala/backend/core/error.h>

namespace nyala::detail {

namespace {

/// Ids of a table in a payload, and what lies behind them.
struct SentRows {
  std::vector<int64_t> ids;
  const std::byte* rows = nullptr;
};

SentRows sent_rows(const ParameterEntry& entry, const std::vector<std::byte>& payload, uint64_t offset) {
  const std::byte* const begin = payload.data() + offset;
  SentRows sent{.ids = std::vector<int64_t>(static_cast<size_t>(entry.rows))};
  if (entry.rows > 0) std::memcpy(sent.ids.data(), begin, sent.ids.size() * sizeof(int64_t));
  sent.rows = begin + sent.ids.size() * sizeof(int64_t);
  return sent;
}

std::string rule_text(const ParameterRequest& request) {
  std::string text = request.text;
  for (const std::string& name : request.names) text += "\n" + name;
  return text;
}

}  // namespace

const RowTable& RowTables::at(const ParameterEntry& entry) const {
  check(entry);
  return tables_.at(entry.name);
}

RowTable& RowTables::at(const ParameterEntry& entry) {
  check(entry);
  return tables_.at(entry.name);
}

void RowTables::check(const ParameterEntry& entry) const {
  const auto found = tables_.find(entry.name);
  if (found == tables_.end())
    throw NotFoundError("parameter server: there is no table " + in_quotes(entry.name) + " here");
  if (found->second.shape() != entry.shape || entry.dtype != DType::float32)
    throw ShapeError("parameter server: table " + in_quotes(entry.name) + " has shape " +
                     found->second.shape().to_string() + " in float32, received shape " +
                     entry.shape.to_string() + " and dtype " + std::string(name_of(entry.dtype)) +
                     "; all processes run the same program");
}

bool RowTables::create(const ParameterRequest& request) {
  if (request.entries.size() != 2 || request.entries[1].shape.rank() < 2 ||
      request.entries[0].shape.rank() != request.entries[1].shape.rank() ||
      request.seen > static_cast<uint64_t>(request.entries[1].shape[0]))
    throw CommunicationError("parameter server: expected a part of a table and the whole");
  const ParameterEntry& part = request.entries[0];
  if (tables_.contains(part.name)) return check(part), false;
  if (!read_filler_)
    throw StateError("parameter server: it cannot make the first values of table " + in_quotes(part.name));
  RowTable made(part, static_cast<int64_t>(request.seen),
                read_filler_(request.text, request.id, request.entries[1].shape));
  tables_.emplace(part.name, std::move(made));
  return true;
}

void RowTables::set_rule(const ParameterRequest& request, const ServerRule& rule) {
  std::vector<std::pair<RowTable*, std::unique_ptr<RowRule>>> made;
  for (const ParameterEntry& entry : request.entries)
    if (entry.is_table()) made.emplace_back(&at(entry), rule.for_rows(entry.name));
  for (auto& [table, rows] : made) {
    std::string& known = rules_[table->name()];
    const bool is_same = known == rule_text(request);
    if (is_same && table->has_rule()) continue;
    table->set_rule(std::move(rows), count_, is_same);
    known = rule_text(request);
  }
}

void RowTables::set_step(int64_t step, double rate) {
  for (auto& [name, table] : tables_) table.restart(count_, step);
  if (step != count_.step) count_ = {.step = step};
  count_.set_rate(rate);
}

void RowTables::clear() {
  tables_.clear();
  rules_.clear();
  count_ = {};
}

Tensor RowTables::pull(const ParameterRequest& request, const Bytes& payload) {
  uint64_t offset = 0, total = 0;
  for (const ParameterEntry& entry : request.entries) {
    at(entry).check(sent_rows(entry, payload, offset).ids);
    offset += static_cast<uint64_t>(entry.rows) * sizeof(int64_t);
    total += entry.bytes_of_rows();
  }
  const Tensor rows = Tensor::empty({static_cast<int64_t>(total)}, DType::uint8, Device{});
  auto* to = static_cast<std::byte*>(rows.raw());
  offset = 0;
  for (const ParameterEntry& entry : request.entries) {
    at(entry).read(sent_rows(entry, payload, offset).ids, count_, to);
    offset += static_cast<uint64_t>(entry.rows) * sizeof(int64_t);
    to += entry.bytes_of_rows();
  }
  return rows;
}

void RowTables::check_update(const ParameterRequest& request, const Bytes& payload, uint64_t offset) const {
  for (const ParameterEntry& entry : request.entries) {
    if (!entry.is_table()) continue;
    const RowTable& table = at(entry);
    if (entry.rows > 0 && !table.has_rule())
      throw InvalidArgumentError("parameter server: table " + in_quotes(entry.name) +
                                 " has a gradient, but the optimizer does not update it");
    table.check(sent_rows(entry, payload, offset).ids);
    offset += entry.bytes();
  }
}

void RowTables::update(const ParameterRequest& request, const Bytes& payload, uint64_t offset) {
  bool counts = false;
  for (const ParameterEntry& entry : request.entries) {
    if (!entry.is_table()) continue;
    RowTable& table = at(entry);
    const SentRows sent = sent_rows(entry, payload, offset);
    offset += entry.bytes();
    if (!table.has_rule()) continue;
    table.update(sent.ids, count_, sent.rows);
    counts = true;
  }
  if (counts) ++count_.step;
}

void RowTables::assign(const ParameterRequest& request, const Bytes& payload) {
  uint64_t offset = 0;
  for (const ParameterEntry& entry : request.entries) {
    at(entry).check(sent_rows(entry, payload, offset).ids);
    offset += entry.bytes();
  }
  offset = 0;
  for (const ParameterEntry& entry : request.entries) {
    const SentRows sent = sent_rows(entry, payload, offset);
    at(entry).assign(sent.ids, count_, sent.rows);
    offset += entry.bytes();
  }
}

std::string RowTables::describe() const {
  if (tables_.empty()) return {};
  uint64_t bytes = 0;
  for (const auto& [name, table] : tables_) bytes += table.state().value.bytes();
  return "; " + std::to_string(tables_.size()) + (tables_.size() == 1 ? " table" : " tables") +
         " read by rows of " + std::to_string(bytes) + " bytes, " + std::to_string(count_.step) + " updates";
}

void RowTables::write(ServerSnapshot& snapshot, Tensors& values) const {
  snapshot.table_step = count_.step;
  snapshot.table_rates = count_.rates;
  const auto add = [&](const std::string& name, const Tensor& value) {
    snapshot.tables.push_back({.name = name, .dtype = value.dtype(), .shape = value.shape()});
    values.push_back(value);
  };
  for (const auto& [name, table] : tables_) {
    const RowTable::State& state = table.state();
    const auto rule = rules_.find(name);
    snapshot.table_rules.push_back(rule == rules_.end() ? std::string() : rule->second);
    add(name, state.value);
    for (const Tensor& slot : state.slots) add("", slot);
    if (state.next.defined()) add("", state.next);
  }
}

void RowTables::read(const ServerSnapshot& snapshot, const Tensors& values, size_t next) {
  count_ = {.step = snapshot.table_step, .rates = snapshot.table_rates};
  size_t table = 0;
  for (size_t i = 0; i < snapshot.tables.size();) {
    const std::string& name = snapshot.tables[i].name;
    if (table >= snapshot.table_rules.size())
      throw FileFormatError("no snapshot of a parameter server: a table without its rule");
    RowTable::State state{.value = values.at(next + i)};
    for (++i; i < snapshot.tables.size() && snapshot.tables[i].name.empty(); ++i) {
      const Tensor& value = values.at(next + i);
      if (value.dtype() == DType::int64)
        state.next = value;
      else
        state.slots.push_back(value);
    }
    rules_[name] = snapshot.table_rules[table++];
    tables_.emplace(name, RowTable(name, std::move(state)));
  }
}

void RowTables::add_entries(ParameterRequest& of_rule) const {
  for (const auto& [name, table] : tables_)
    if (const auto rule = rules_.find(name); rule != rules_.end() && rule->second == rule_text(of_rule))
      of_rule.entries.push_back({.name = name, .shape = table.shape(), .rows = 0});
}

}  // namespace nyala::detail
