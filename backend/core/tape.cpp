// Reverse mode by a tape: an entry per op with the ids of what it read and gave, and those tensors that its
// gradient needs. Values count their uses, so that the walk knows when a gradient is complete. Tensors name
// their tape by a slot and a serial number, which the tape raises when it is cleared or ends: a tensor that
// outlives its tape is untracked, not dangling. A leaf is known by its store's number and its address.
#include <nyala/backend/core/tape.h>

#include <algorithm>
#include <array>
#include <deque>
#include <mutex>

#include <nyala/backend/core/error.h>
#include <nyala/backend/core/mutex.h>

namespace nyala {

using namespace nyala::detail;

namespace {

/// Slots are never freed: a tensor may point at one after its tape is gone.
struct SlotPool {
  Mutex mutex{Mutex::AtFork::is_waited};
  std::deque<TapeSlot> all;
  std::vector<TapeSlot*> free;
};

SlotPool& slot_pool() {
  static SlotPool* pool = new SlotPool;  // outlives static tensors
  return *pool;
}

/// The last writes that Tape::note_write numbered, by their bytes. Of older ones only the storage is known.
class RecentWrites {
 public:
  void add(const Tensor& written) {
    const auto begin = reinterpret_cast<uintptr_t>(written.raw());
    std::lock_guard lock(mutex_);
    const uint64_t number = TapeSource::next_write();
    Write& place = writes_[next_++ % writes_.size()];
    forgotten_ = place.number;
    place = {begin, begin + written.bytes(), number};
    written.storage()->set_last_write(number);
  }

  /// Whether bytes of `kept` were written after `number`.
  bool touch(const Tensor& kept, uint64_t number) {
    const auto begin = reinterpret_cast<uintptr_t>(kept.raw()), end = begin + kept.bytes();
    std::lock_guard lock(mutex_);
    if (forgotten_ > number) return true;
    for (const Write& write : writes_)
      if (write.number > number && write.begin < end && begin < write.end) return true;
    return false;
  }

 private:
  struct Write {
    uintptr_t begin = 0, end = 0;
    uint64_t number = 0;
  };
  Mutex mutex_{Mutex::AtFork::is_waited};
  std::array<Write, 4096> writes_{};
  size_t next_ = 0;
  uint64_t forgotten_ = 0;
};

RecentWrites& recent_writes() {
  static auto& writes = *new RecentWrites;
  return writes;
}

}  // namespace

Tape::Tape() {
  SlotPool& pool = slot_pool();
  std::lock_guard lock(pool.mutex);
  if (pool.free.empty()) {
    pool.free.reserve(pool.all.size() + 1);  // so that the end of a tape allocates nothing
    slot_ = &pool.all.emplace_back();
  } else {
    slot_ = pool.free.back();
    pool.free.pop_back();
  }
  slot_->tape = this;
  ++slot_->serial;
}

Tape::~Tape() {
  SlotPool& pool = slot_pool();
  std::lock_guard lock(pool.mutex);
  slot_->tape = nullptr;
  ++slot_->serial;
  pool.free.push_back(slot_);
}

void Tape::note_write(const Tensor& written) {
  if (!written.storage().unique()) recent_writes().add(written);  // else no tape holds it
}

void Tape::check_kept(const TapeEntry& entry, size_t i) const {
  const Tensor& kept = tensors_[entry.first_tensor + i];
  if (kept.is_abstract() || kept.bytes() == 0) return;
  const uint32_t id = ids_[entry.first_id + i];
  if (id != kUntracked && values_[id].source && values_[id].source->written() > entry.writes)
    throw StateError(
        "gradient: variable " + in_quotes(values_[id].source->path()) +
        " was written after the tape had recorded a use of its value, which the gradient needs; take "
        "the gradient before you assign to the variable or update it, or record the use again");
  if (kept.storage()->last_write() > entry.writes && recent_writes().touch(kept, entry.writes))
    throw StateError("gradient: a tensor of shape " + kept.shape().to_string() +
                     ", or a variable whose value it is, was written in place after the tape had recorded '" +
                     std::string(entry.op->name) +
                     "', whose gradient needs what it held; take the gradient before you write, or use a "
                     "clone() on the tape");
}

void Tape::clear() {
  ++slot_->serial;
  entries_.clear();
  values_.clear();
  tensors_.clear();
  ids_.clear();
  leaf_values_.assign(leaf_values_.size(), kUntracked);
}

uint32_t Tape::new_value(const Tensor& value, int32_t leaf) {
  values_.push_back({value.as_abstract(), leaf, 0, leaf >= 0 ? value.raw() : nullptr});
  return static_cast<uint32_t>(values_.size() - 1);
}

Tensor Tape::watch(const Tensor& value, int32_t leaf, const TapeSource* source) {
  check_internal(leaf >= 0, "a leaf key is negative");
  const size_t index = static_cast<size_t>(leaf);
  if (index >= leaf_values_.size()) leaf_values_.resize(index + 1, kUntracked);
  if (leaf_values_[index] == kUntracked) leaf_values_[index] = new_value(value, leaf);
  uint32_t id = leaf_values_[index];
  if (values_[id].address != value.raw()) {  // each store counts its leaves from 0: this one is another's
    id = find(leaf, value.raw());
    if (id == kUntracked) id = new_value(value, leaf);
  }
  if (source && !values_[id].source) values_[id].source = source->shared_from_this();
  Tensor out = value;
  out.track(slot_, id);
  return out;
}

uint32_t Tape::find(int32_t leaf, const void* address) const {
  const size_t index = static_cast<size_t>(leaf);
  if (index >= leaf_values_.size() || leaf_values_[index] == kUntracked) return kUntracked;
  if (values_[leaf_values_[index]].address == address) return leaf_values_[index];
  for (uint32_t id = 0; id < values_.size(); ++id)
    if (values_[id].leaf == leaf && values_[id].address == address) return id;
  return kUntracked;
}

Tensor Tape::watch_same(const TapeValue& leaf) {
  const size_t index = static_cast<size_t>(leaf.leaf);
  if (index >= leaf_values_.size()) leaf_values_.resize(index + 1, kUntracked);
  uint32_t id = find(leaf.leaf, leaf.address);
  if (id == kUntracked) {
    id = new_value(leaf.abstract, leaf.leaf);
    values_[id].address = leaf.address;
    if (leaf_values_[index] == kUntracked) leaf_values_[index] = id;
  }
  Tensor out = leaf.abstract;
  out.track(slot_, id);
  return out;
}

namespace {

/// Whether OpDef::keep_inputs or keep_outputs names tensor `i`.
bool names(uint32_t kept, size_t i) { return kept == kKeepAll || (i < 32 && (kept >> i & 1u)); }

}  // namespace

bool Tape::reads_input(const TapeEntry& entry, size_t i) const {
  const auto named = [&](size_t input) { return names(entry.op->keep_inputs, input); };
  if (!named(i) || !entry.op->is_product) return named(i);
  for (size_t other = 0; other < entry.num_inputs; ++other)
    if (other != i && named(other) && ids_[entry.first_id + other] != kUntracked) return true;
  return false;
}

const TapeEntry* Tape::maker_of(uint32_t id) const {
  const auto first_output = [&](const TapeEntry& entry) { return ids_[entry.first_id + entry.num_inputs]; };
  const auto behind = std::partition_point(entries_.begin(), entries_.end(),
                                           [&](const TapeEntry& entry) { return first_output(entry) <= id; });
  if (behind == entries_.begin()) return nullptr;
  const TapeEntry& entry = *std::prev(behind);
  return id - first_output(entry) < entry.num_outputs ? &entry : nullptr;
}

Tensor Tape::track(const Tensor& value) {
  Tensor out = value;
  out.track(slot_, new_value(value, -1));
  return out;
}

void Tape::record(const OpDef& op, const Descriptor& descriptor, TensorPointers inputs,
                  std::span<Tensor> outputs) {
  TapeEntry entry{&op,
                  descriptor,
                  static_cast<uint32_t>(tensors_.size()),
                  static_cast<uint32_t>(ids_.size()),
                  static_cast<uint16_t>(inputs.size()),
                  static_cast<uint16_t>(outputs.size()),
                  TapeSource::writes()};
  for (size_t i = 0; i < inputs.size(); ++i) {
    const bool tracked = inputs[i]->tape() == this;
    ids_.push_back(tracked ? inputs[i]->value_id() : kUntracked);
    if (tracked) ++values_[inputs[i]->value_id()].uses;
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const uint32_t id = ids_[entry.first_id + i];
    const bool kept = reads_input(entry, i) && !(id != kUntracked && values_[id].recomputed);
    tensors_.push_back(kept ? inputs[i]->detached() : inputs[i]->as_abstract());
  }
  const bool reads_outputs = !op.reads_outputs || op.reads_outputs(descriptor.data());
  for (size_t i = 0; i < outputs.size(); ++i) {
    ids_.push_back(new_value(outputs[i], -1));
    const bool kept = reads_outputs && names(op.keep_outputs, i);
    tensors_.push_back(kept ? outputs[i].detached() : outputs[i].as_abstract());
  }
  for (size_t i = 0; i < outputs.size(); ++i)
    outputs[i].track(slot_, ids_[entry.first_id + entry.num_inputs + i]);
  entries_.push_back(entry);
}

}  // namespace nyala
