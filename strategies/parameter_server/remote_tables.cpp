// Gradients of rows are summed here as one device sums them into zeros: in the order of the batch, use by
// use, replica by replica. A push names each row once.
#include <nyala/strategies/parameter_server/remote_tables.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <mutex>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/shape/gather.h>

namespace nyala::detail {

namespace {

std::span<const std::byte> bytes_of_ids(std::span<const int64_t> ids) { return std::as_bytes(ids); }

/// Adds each row of a use to the sum of its id, among the sorted `ids`.
void add_rows(const Tensor& indices, const Tensor& values, int64_t rows, std::span<const int64_t> ids,
              int64_t columns, std::vector<float>& sums) {
  ops::detail::for_each_index(indices, rows, [&](int64_t position, int64_t id) {
    if (id < 0) return;
    const auto place = std::ranges::lower_bound(ids, id) - ids.begin();
    const float* const from = values.raw_as<float>() + position * columns;
    float* const to = sums.data() + place * columns;
    for (int64_t i = 0; i < columns; ++i) to[i] += from[i];
  });
}

}  // namespace

bool RemoteTables::takes(const VariableSpec& spec) const {
  const int64_t bytes = spec.shape.num_elements() * size_of(spec.dtype);
  return spec.trainable && spec.dtype == DType::float32 && spec.shape.rank() >= 2 && bytes > above_;
}

void RemoteTables::create(const std::shared_ptr<VariableNode>& node, const First& first) {
  const VariableSpec& spec = node->spec;
  if (spec.constraint)
    throw InvalidArgumentError("ParameterServerStrategy: variable " + in_quotes(spec.path) +
                               " has a constraint, which is code that servers do not have; leave it out, or "
                               "use another strategy");
  const int count = ++parameters_.names_[spec.path];
  const Table& table =
      tables_.emplace_back(Table{.node = node,
                                 .name = count == 1 ? spec.path : spec.path + "#" + std::to_string(count),
                                 .number = parameters_.placement_.add({spec.shape, spec.dtype}),
                                 .shape = spec.shape});
  const std::span<const VariablePart> parts = parameters_.placement_.parts_of(table.number);
  const auto servers = static_cast<size_t>(parameters_.num_servers());
  for (size_t begin = 0; begin < parts.size(); begin += servers) {  // at most one on each server
    Asking asking = parameters_.asking(ParameterCallKind::create_table);
    for (const VariablePart& part : parts.subspan(begin, std::min(servers, parts.size() - begin))) {
      ParameterRequest& request = asking[static_cast<size_t>(part.server)].request;
      request.text = first.initializer;
      request.id = first.key;
      request.seen = static_cast<uint64_t>(part.rows.first);
      request.entries = {entry_of(table, part, -1), {.name = table.name, .shape = table.shape}};
    }
    parameters_.ask(asking, false, false);
  }
}

const RemoteTables::Table& RemoteTables::table_of(const VariableNode& node) const {
  for (const Table& table : tables_)
    if (table.node.lock().get() == &node) return table;
  throw StateError("variable " + in_quotes(node.spec.path) + " was not made under this strategy");
}

ParameterEntry RemoteTables::entry_of(const Table& table, const VariablePart& part, int64_t rows) const {
  const bool is_whole = parameters_.placement_.parts_of(table.number).size() == 1;
  return {.name = is_whole ? table.name : table.name + "/part_" + std::to_string(part.part),
          .shape = part.shape,
          .rows = rows};
}

std::vector<RemoteTables::PartRows> RemoteTables::split(const Table& table,
                                                        std::span<const int64_t> ids) const {
  const std::span<const VariablePart> parts = parameters_.placement_.parts_of(table.number);
  std::vector<PartRows> of_parts(parts.size());
  for (size_t i = 0; i < parts.size(); ++i) of_parts[i].part = &parts[i];
  for (size_t i = 0; i < ids.size(); ++i) {
    const VariablePart& part =
        parts.size() == 1 ? parts[0] : parameters_.placement_.part_of_row(table.number, ids[i]);
    PartRows& rows = of_parts[static_cast<size_t>(part.part)];
    rows.ids.push_back(ids[i] - part.rows.first);
    rows.places.push_back(static_cast<int64_t>(i));
  }
  return of_parts;
}

// Ids ascend, and parts are runs of rows: each part's answer goes where its rows lie together.
Tensor RemoteTables::pull(const VariableNode& node, std::span<const int64_t> ids) {
  const Table& table = table_of(node);
  const Tensor out =
      Tensor::empty(table.shape.with(0, static_cast<int64_t>(ids.size())), DType::float32, Device{});
  const size_t row_bytes = static_cast<size_t>(columns_of(table.shape)) * sizeof(float);
  const std::vector<PartRows> parts = split(table, ids);
  Asking asking = parameters_.asking(ParameterCallKind::pull_rows);
  auto* place = static_cast<std::byte*>(out.raw());
  for (const PartRows& rows : parts) {
    if (rows.ids.empty()) continue;
    RemoteParameters::Asked& asked = asking[static_cast<size_t>(rows.part->server)];
    asked.request.entries.push_back(entry_of(table, *rows.part, static_cast<int64_t>(rows.ids.size())));
    asked.sent.push_back(bytes_of_ids(rows.ids));
    asked.into.emplace_back(place, rows.ids.size() * row_bytes);
    place += rows.ids.size() * row_bytes;
  }
  parameters_.ask(asking, false, false);
  return out;
}

void RemoteTables::assign(const VariableNode& node, std::span<const int64_t> ids, const Tensor& value) {
  const Table& table = table_of(node);
  const size_t row_bytes = static_cast<size_t>(columns_of(table.shape)) * sizeof(float);
  const std::vector<PartRows> parts = split(table, ids);
  Asking asking = parameters_.asking(ParameterCallKind::assign_rows);
  for (const PartRows& rows : parts) {
    if (rows.ids.empty()) continue;
    RemoteParameters::Asked& asked = asking[static_cast<size_t>(rows.part->server)];
    asked.request.entries.push_back(entry_of(table, *rows.part, static_cast<int64_t>(rows.ids.size())));
    asked.sent.push_back(bytes_of_ids(rows.ids));
    for (const int64_t place : rows.places)
      asked.sent.emplace_back(
          static_cast<const std::byte*>(value.raw()) + static_cast<size_t>(place) * row_bytes, row_bytes);
  }
  parameters_.ask(asking, false, false);
}

void RemoteTables::begin_step() {
  const std::lock_guard lock(mutex_);
  gradients_.clear();
}

void RemoteTables::add_gradient(int replica, int32_t leaf, const Tensor& indices, const Tensor& values) {
  Use use{ops::cast(indices.detached(), DType::int64).to(Device{}), values.detached().to(Device{})};
  const std::lock_guard lock(mutex_);
  gradients_[leaf][replica].push_back(std::move(use));
}

RemoteTables::Pushed RemoteTables::push(Asking& asking) {
  std::map<int32_t, Uses> gradients;
  {
    const std::lock_guard lock(mutex_);
    gradients.swap(gradients_);
  }
  Pushed pushed;
  for (const Table& table : tables_)
    if (const auto node = table.node.lock(); node && is_remote_table(*node))
      push(table, gradients[node->leaf], asking, pushed);
  return pushed;
}

namespace {

/// The ids of all uses, each once, in their order.
template <class Uses>
std::vector<int64_t> ids_of_uses(const Uses& uses, int64_t rows) {
  std::vector<int64_t> ids;
  for (const auto& [replica, of_replica] : uses)
    for (const auto& use : of_replica)
      ops::detail::for_each_index(use.indices, rows, [&](int64_t, int64_t id) {
        if (id >= 0) ids.push_back(id);
      });
  std::ranges::sort(ids);
  ids.erase(std::ranges::unique(ids).begin(), ids.end());
  return ids;
}

void add_to(std::vector<float>& sums, const std::vector<float>& more) {
  std::ranges::transform(sums, more, sums.begin(), std::plus());
}

}  // namespace

// Ids are sorted, and parts are runs of rows: what a part gets lies together.
void RemoteTables::push(const Table& table, const Uses& uses, Asking& asking, Pushed& pushed) const {
  const int64_t rows = table.shape[0], columns = columns_of(table.shape);
  PushedRows& all = pushed.emplace_back(PushedRows{.ids = ids_of_uses(uses, rows)});
  const auto zeros = [&] { return std::vector<float>(all.ids.size() * static_cast<size_t>(columns), 0.0f); };
  for (const auto& [replica, of_replica] : uses) {
    std::vector<float> of_this;
    for (const Use& use : of_replica) {
      std::vector<float> own = zeros();
      add_rows(use.indices, use.values, rows, all.ids, columns, own);
      of_this.empty() ? of_this.swap(own) : add_to(of_this, own);
    }
    all.sums.empty() ? all.sums.swap(of_this) : add_to(all.sums, of_this);
  }
  auto first = all.ids.begin();
  for (const VariablePart& part : parameters_.placement_.parts_of(table.number)) {
    const auto end = std::lower_bound(first, all.ids.end(), part.rows.first + part.rows.count);
    for (auto id = first; id != end; ++id) *id -= part.rows.first;
    RemoteParameters::Asked& asked = asking[static_cast<size_t>(part.server)];
    asked.request.entries.push_back(entry_of(table, part, end - first));
    const auto begin = static_cast<size_t>(first - all.ids.begin()), count = static_cast<size_t>(end - first);
    first = end;
    if (count == 0) continue;
    const auto width = static_cast<size_t>(columns);
    asked.sent.push_back(std::as_bytes(std::span(all.ids).subspan(begin, count)));
    asked.sent.push_back(std::as_bytes(std::span(all.sums).subspan(begin * width, count * width)));
  }
}

void RemoteTables::name(Asking& asking, const VariableNode& node) {
  const Table& table = table_of(node);
  for (const VariablePart& part : parameters_.placement_.parts_of(table.number))
    asking[static_cast<size_t>(part.server)].request.entries.push_back(entry_of(table, part, 0));
}

void RemoteTables::set_step(const std::map<std::string, Tensor>& optimizer) {
  if (tables_.empty()) return;
  const auto number = [&](const char* name) {
    const auto found = optimizer.find(name);
    return found == optimizer.end() ? 0.0 : found->second.item();
  };
  Asking asking = parameters_.asking(ParameterCallKind::set_step);
  for (RemoteParameters::Asked& asked : asking) {
    asked.request.id = static_cast<uint64_t>(number("iteration"));
    asked.request.number = number("learning_rate");
  }
  parameters_.ask(asking, true, false);
}

}  // namespace nyala::detail
