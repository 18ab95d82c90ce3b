// A row's updates without a gradient are made late, one after the other, by the rule itself: what a closed
// form would give differs in the last bits. Rows that were left behind alike are brought up to date together.
#include <nyala/strategies/parameter_server/row_table.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>

#include <nyala/backend/core/error.h>

namespace nyala {

std::unique_ptr<RowRule> ServerRule::for_rows(const std::string& table) const {
  throw InvalidArgumentError("parameter server: table " + detail::in_quotes(table) +
                             " changes by rows, for which its rule is not made");
}

}  // namespace nyala

namespace nyala::detail {

namespace {

constexpr int64_t kBlockBytes = 1 << 16;  // of rows that are worked on together: stays in the cache

int64_t rows_of_block(int64_t columns) {
  return std::max<int64_t>(1, kBlockBytes / (std::max<int64_t>(columns, 1) * int64_t{sizeof(float)}));
}

template <class Body>
void for_blocks(std::span<const int64_t> ids, int64_t columns, const Body& body) {
  const auto most = static_cast<size_t>(rows_of_block(columns));
  for (size_t first = 0; first < ids.size(); first += most)
    body(first, ids.subspan(first, std::min(most, ids.size() - first)));
}

Tensor front(const Tensor& flat, int64_t count) {
  return Tensor::view_of(flat.storage(), flat.storage_offset(), {count}, flat.dtype());
}

void copy_row(float* to, const float* from, int64_t columns) {
  std::memcpy(to, from, static_cast<size_t>(columns) * sizeof(float));
}

/// Rows lie anywhere in a table that no cache holds: they are asked for some rows ahead.
void fetch_ahead(std::span<const int64_t> ids, size_t i, const float* table, int64_t columns) {
  constexpr size_t kAhead = 12;
  constexpr int64_t kLine = 16, kMostLines = 16;  // floats of a line of the cache
  if (i + kAhead >= ids.size()) return;
  const float* const row = table + ids[i + kAhead] * columns;
  for (int64_t at = 0; at < std::min(columns, kMostLines * kLine); at += kLine) __builtin_prefetch(row + at);
}

}  // namespace

void UpdateCount::set_rate(double rate) {
  while (!rates.empty() && rates.back().first >= step) rates.pop_back();
  rates.emplace_back(rates.empty() ? 0 : step, rate);
}

double UpdateCount::rate_of(int64_t of_step) const {
  const auto behind =
      std::ranges::upper_bound(rates, of_step, {}, [](const auto& entry) { return entry.first; });
  return behind == rates.begin() ? 0.0 : std::prev(behind)->second;
}

// Draws of rows that lie elsewhere are thrown away: a stream of draws has no other way to a place in it.
RowTable::RowTable(const ParameterEntry& part, int64_t first, const RowFiller& fill) : name_(part.name) {
  if (part.dtype != DType::float32)
    throw DTypeError("parameter server: table " + in_quotes(part.name) + ": expected float32, received " +
                     std::string(name_of(part.dtype)));
  state_.value = Tensor::empty(part.shape, part.dtype, Device{});
  columns_ = columns_of(part.shape);
  const int64_t most = rows_of_block(columns_);
  const Tensor elsewhere = Tensor::empty(part.shape.with(0, most), part.dtype, Device{});
  for (int64_t row = 0; row < first; row += most) fill(elsewhere.rows(0, std::min(most, first - row)));
  for (int64_t row = 0; row < shape()[0]; row += most)
    fill(state_.value.rows(row, std::min(most, shape()[0] - row)));
}

RowTable::RowTable(std::string name, State state)
    : name_(std::move(name)), state_(std::move(state)), columns_(columns_of(shape())) {}

void RowTable::set_rule(std::unique_ptr<RowRule> rule, const UpdateCount& count, bool keeps_slots) {
  if (!keeps_slots && rule_) catch_up_all(count);
  rule_ = std::move(rule);
  if (!keeps_slots) make_slots(count);
}

void RowTable::make_slots(const UpdateCount& count) {
  state_.slots.clear();
  state_.next = Tensor();
  for (size_t slot = 0; slot < rule_->num_slots(); ++slot)
    state_.slots.push_back(Tensor::full(shape(), rule_->slot_initial(slot), DType::float32, Device{}));
  if (rule_->idle() == RowRule::Idle::stays) return;
  state_.next = Tensor::empty({shape()[0]}, DType::int64, Device{});
  const int64_t begin = rule_->idle() == RowRule::Idle::moves ? count.step : -1;
  std::fill_n(state_.next.raw_as<int64_t>(), shape()[0], begin);
}

void RowTable::check(std::span<const int64_t> ids) const {
  for (const int64_t id : ids)
    if (id < 0 || id >= shape()[0])
      throw CommunicationError("parameter server: table " + in_quotes(name_) + " has " +
                               std::to_string(shape()[0]) + " rows here, was asked for row " +
                               std::to_string(id));
}

void RowTable::read(std::span<const int64_t> ids, const UpdateCount& count, std::byte* rows) {
  catch_up(ids, count);
  const auto* const value = state_.value.raw_as<float>();
  for (size_t i = 0; i < ids.size(); ++i) {
    fetch_ahead(ids, i, value, columns_);
    std::memcpy(rows, value + ids[i] * columns_, row_bytes());
    rows += row_bytes();
  }
}

void RowTable::assign(std::span<const int64_t> ids, const UpdateCount& count, const std::byte* rows) {
  catch_up(ids, count);
  auto* const value = state_.value.raw_as<float>();
  for (const int64_t id : ids) {
    std::memcpy(value + id * columns_, rows, row_bytes());
    rows += row_bytes();
  }
}

RowBlock RowTable::taken(std::span<const int64_t> ids) const {
  const Shape flat{static_cast<int64_t>(ids.size()) * columns_};
  const auto of = [&](const Tensor& table) {
    const Tensor block = Tensor::empty(flat, DType::float32, Device{});
    auto* to = block.raw_as<float>();
    for (size_t i = 0; i < ids.size(); ++i) {
      fetch_ahead(ids, i, table.raw_as<float>(), columns_);
      copy_row(to, table.raw_as<float>() + ids[i] * columns_, columns_);
      to += columns_;
    }
    return block;
  };
  RowBlock block{.value = of(state_.value), .gradient = Tensor::empty(flat, DType::float32, Device{})};
  for (const Tensor& slot : state_.slots) block.slots.push_back(of(slot));
  return block;
}

void RowTable::put_back(std::span<const int64_t> ids, const RowBlock& block) const {
  const auto into = [&](const Tensor& table, const Tensor& rows) {
    const auto* from = rows.raw_as<float>();
    for (const int64_t id : ids) {
      copy_row(table.raw_as<float>() + id * columns_, from, columns_);
      from += columns_;
    }
  };
  into(state_.value, block.value);
  for (size_t slot = 0; slot < state_.slots.size(); ++slot) into(state_.slots[slot], block.slots[slot]);
}

void RowTable::update(std::span<const int64_t> ids, const UpdateCount& count, const std::byte* gradients) {
  catch_up(ids, count);
  for_blocks(ids, columns_, [&](size_t first, std::span<const int64_t> some) {
    const RowBlock block = taken(some);
    std::memcpy(block.gradient.raw(), gradients + first * row_bytes(), block.gradient.bytes());
    rule_->update(count.step, count.rate_of(count.step), block);
    put_back(some, block);
  });
  if (!state_.next.defined()) return;
  for (const int64_t id : ids) state_.next.raw_as<int64_t>()[id] = count.step + 1;
}

void RowTable::catch_up(std::span<const int64_t> ids, const UpdateCount& count) {
  if (!state_.next.defined()) return;
  const auto* const next = state_.next.raw_as<int64_t>();
  std::vector<int64_t> behind;
  std::ranges::copy_if(ids, std::back_inserter(behind),
                       [&](int64_t id) { return next[id] >= 0 && next[id] < count.step; });
  std::ranges::sort(behind, {}, [&](int64_t id) { return next[id]; });
  for_blocks(behind, columns_, [&](size_t, std::span<const int64_t> some) { catch_up_block(some, count); });
}

/// Sorted by the update that each has to make first: in each one those take part that come before.
void RowTable::catch_up_block(std::span<const int64_t> ids, const UpdateCount& count) {
  auto* const next = state_.next.raw_as<int64_t>();
  const RowBlock block = taken(ids);
  size_t some = 0;
  for (int64_t step = next[ids.front()]; step < count.step; ++step) {
    while (some < ids.size() && next[ids[some]] <= step) ++some;
    const int64_t elements = static_cast<int64_t>(some) * columns_;
    RowBlock part{.value = front(block.value, elements), .gradient = front(block.gradient, elements)};
    std::memset(part.gradient.raw(), 0, part.gradient.bytes());
    for (const Tensor& slot : block.slots) part.slots.push_back(front(slot, elements));
    rule_->update(step, count.rate_of(step), part);
  }
  put_back(ids, block);
  for (const int64_t id : ids) next[id] = count.step;
}

void RowTable::catch_up_all(const UpdateCount& count) {
  if (!state_.next.defined()) return;
  const int64_t most = rows_of_block(columns_);
  std::vector<int64_t> ids;
  for (int64_t row = 0; row < shape()[0]; row += most) {
    ids.resize(static_cast<size_t>(std::min(most, shape()[0] - row)));
    std::iota(ids.begin(), ids.end(), row);
    catch_up(ids, count);
  }
}

void RowTable::restart(const UpdateCount& count, int64_t step) {
  if (!rule_ || step == count.step) return;
  catch_up_all(count);
  if (step == 0) return make_slots({.step = 0});
  if (!state_.next.defined()) return;
  auto* const next = state_.next.raw_as<int64_t>();
  for (int64_t row = 0; row < shape()[0]; ++row)
    if (next[row] >= 0) next[row] = step;
}

}  // namespace nyala::detail
