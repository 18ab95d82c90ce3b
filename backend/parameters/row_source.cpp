// A table elsewhere is a variable whose copies are abstract: shape and dtype without bytes. On the tape
// stands what one device would record, ops::take of the table by the ids, so that its gradient comes as rows.
#include <nyala/backend/parameters/row_source.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <mutex>
#include <numeric>

#include <nyala/backend/core/error.h>
#include <nyala/backend/core/mutex.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/shape/gather.h>
#include <nyala/backend/parameters/call.h>
#include <nyala/backend/parameters/remote_table_variable.h>
#include <nyala/backend/runtime/status_word.h>

namespace nyala::detail {

namespace {

struct RowSources {
  Mutex mutex{Mutex::AtFork::is_waited};
  std::map<const SegmentOwner*, std::shared_ptr<RowSource>> of_stores;
};

RowSources& row_sources() {
  static auto& sources = *new RowSources;
  return sources;
}

std::shared_ptr<RowSource> find_source(const SegmentOwner* store) {
  RowSources& sources = row_sources();
  const std::lock_guard lock(sources.mutex);
  const auto found = sources.of_stores.find(store);
  return found == sources.of_stores.end() ? nullptr : found->second;
}

/// Ids on the host, negative ones counted from the end; -1 for those out of range, which are reported.
std::vector<int64_t> ids_of(const Tensor& indices, int64_t rows) {
  const Tensor host = ops::cast(indices.detached(), DType::int64).to(Device{});
  std::vector<int64_t> ids(static_cast<size_t>(host.num_elements()));
  ops::detail::for_each_index(host, rows, [&](int64_t position, int64_t id) {
    ids[static_cast<size_t>(position)] = id;
    if (id >= 0 || !thread_context().status) return;
    const int64_t value = host.raw_as<int64_t>()[position];
    const Device device = is_on_host(indices.device()) ? indices.device() : Device{};
    report_status(thread_context().status->word(device),
                  {StatusCode::index_out_of_range, position, value, rows, indices.shape()});
  });
  return ids;
}

/// One row of `pulled` for each id, whose places `unique` says; NaN for bad ones.
Tensor spread(const std::vector<int64_t>& ids, const std::vector<int64_t>& unique, const Tensor& pulled,
              const Shape& shape) {
  const Tensor out = Tensor::empty(shape, pulled.dtype(), Device{});
  const int64_t columns = shape.num_elements() / std::max<int64_t>(static_cast<int64_t>(ids.size()), 1);
  auto* to = out.raw_as<float>();
  for (const int64_t id : ids) {
    const auto place = std::ranges::lower_bound(unique, id) - unique.begin();
    if (id < 0)
      std::fill_n(to, columns, std::numeric_limits<float>::quiet_NaN());
    else
      std::memcpy(to, pulled.raw_as<float>() + place * columns, static_cast<size_t>(columns) * sizeof(float));
    to += columns;
  }
  return out;
}

Tensor pulled_rows(const Variable& table, const Tensor& indices) {
  const Shape& whole = table.shape();
  if (!thread_context().status) {  // as an op that reports, outside of a model's call
    StatusWords own;
    const StatusScope scope(own);
    Tensor rows = pulled_rows(table, indices);
    own.check();
    return rows;
  }
  const std::vector<int64_t> ids = ids_of(indices, whole[0]);
  std::vector<int64_t> unique = ids;
  std::ranges::sort(unique);
  unique.erase(std::ranges::unique(unique).begin(), unique.end());
  if (!unique.empty() && unique.front() < 0) unique.erase(unique.begin());
  Shape shape = indices.shape();
  for (int axis = 1; axis < whole.rank(); ++axis) shape.append(whole[axis]);
  const Tensor pulled = RemoteTableVariable::source_of(table.node())->pull(table.node(), unique);
  return spread(ids, unique, pulled, shape);
}

}  // namespace

void set_row_source(const ParameterStore& store, std::shared_ptr<RowSource> source) {
  RowSources& sources = row_sources();
  const std::lock_guard lock(sources.mutex);
  if (source)
    sources.of_stores[&store] = std::move(source);
  else
    sources.of_stores.erase(&store);
}

std::shared_ptr<RowSource> source_for(const ParameterStore& store, const VariableSpec& spec) {
  if (!spec.initialize.target<InitializeRows>()) return nullptr;
  std::shared_ptr<RowSource> source = find_source(&store);
  return source && source->takes(spec) ? source : nullptr;
}

bool is_remote_table(const VariableNode& node) noexcept {
  return node.kind == &RemoteTableVariable::instance();
}

Variables without_remote_tables(const Variables& variables) {
  Variables others;
  std::ranges::copy_if(variables, std::back_inserter(others),
                       [](const Variable& variable) { return !is_remote_table(variable.node()); });
  return others;
}

Tensor take_rows(Call& c, const Variable& table, const Tensor& indices) {
  const VariableNode& node = table.node();
  if (!is_remote_table(node)) return ops::take(c[table], indices, 0);
  check_held(node);
  const Tensor& abstract = node.copies[static_cast<size_t>(c.options().local_index) % node.copies.size()];
  if (indices.is_abstract()) return ops::take(abstract, indices, 0);
  Tensor rows = pulled_rows(table, indices).to(indices.device());
  Tape* const tape = c.tape();
  const std::vector<bool>* const trained = c.options().trained;
  const bool is_trained =
      trained ? static_cast<size_t>(node.leaf) < trained->size() && (*trained)[static_cast<size_t>(node.leaf)]
              : node.trainable;
  if (!tape || !tape->recording || !is_trained) return rows;
  const Tensor leaf = tape->watch(abstract, node.leaf, &node);
  const Tensor* const inputs[] = {&leaf, &indices};
  tape->record(ops::kTake, ops::GatherDescriptor{0}, inputs, std::span(&rows, 1));
  return rows;
}

}  // namespace nyala::detail

namespace nyala {

std::shared_ptr<RowSource> RemoteTableVariable::source_of(const VariableNode& node) {
  const std::shared_ptr<SegmentOwner> store = node.owner.lock();
  std::shared_ptr<RowSource> source = store ? detail::find_source(store.get()) : nullptr;
  if (!source)
    throw StateError("variable " + detail::in_quotes(node.spec.path) +
                     " lay on the parameter servers of a strategy that has ended");
  return source;
}

}  // namespace nyala
