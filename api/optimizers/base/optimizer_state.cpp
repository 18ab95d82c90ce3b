// State lies in planes over the arena's layout, so that merged segments are updated whole. Variables move to
// other arenas without asking: an optimizer remembers where each one lay, and what is left behind there is
// carried over when it is built again.
#include <nyala/api/optimizers/base/optimizer_state.h>

#include <algorithm>

namespace nyala {

namespace {

std::string variable_name(const Variable& variable, const std::string& suffix) {
  std::string name = variable.path() + "_" + suffix;
  std::replace(name.begin(), name.end(), '/', '_');
  return name;
}

}  // namespace

Tensor detail::copy_on_host(const Tensor& value) {
  Tensor host = Tensor::empty(value.shape(), value.dtype());
  value.copy_to_host(host.raw());
  return host;
}

Plane* OptimizerState::average(int copy) {
  std::vector<Plane>& averages = copies_.at(static_cast<size_t>(copy)).averages;
  return averages.empty() ? nullptr : &averages.front();
}

bool OptimizerState::in_same_arena(const ParameterStore& store, const Variables& variables) const {
  return store_.get() == &store && !variables_.empty() && !variables.empty() &&
         dtype() == variables.front().dtype();
}

bool OptimizerState::lies(const ParameterStore& store, const Variables& variables) const {
  return in_same_arena(store, variables) && variables == variables_ && unmoved().size() == variables.size();
}

void OptimizerState::build(ParameterStore& store, const Variables& variables) {
  const bool same_arena = in_same_arena(store, variables);
  const Nodes kept = same_arena ? unmoved() : Nodes();
  const auto left = left_behind(kept, variables);
  std::vector<Segment> places;
  for (const Variable& variable : variables) places.push_back(variable.node().segment);
  Variables own = variables;
  std::vector<Copy> others;
  if (!same_arena) others.swap(copies_);
  const auto before = static_cast<std::ptrdiff_t>(copies_.size());
  std::shared_ptr<ParameterStore> its_store = store.shared_from_this();
  const auto exchange = [&] {
    store_.swap(its_store);
    variables_.swap(own);
  };
  exchange();
  try {
    for (int copy = num_copies(); copy < store.num_weight_copies() && !variables_.empty(); ++copy)
      copies_.push_back(make_copy(copy));
    for (int copy = 0; copy < num_copies(); ++copy) reset_segments(copy, kept);
    for (const auto& [entry, value] : left) write(entry, value);
  } catch (...) {  // nothing was built
    exchange();
    copies_.erase(copies_.begin() + before, copies_.end());
    if (!same_arena) copies_.swap(others);
    throw;
  }
  places_.swap(places);
}

OptimizerState::Copy OptimizerState::make_copy(int copy) const {
  const Device device = store_->weights_device(copy);
  Copy made;
  for (size_t slot = 0; slot < formula_.slot_names().size(); ++slot)
    made.slot_planes.emplace_back(device, dtype(), formula_.slot_initial(slot));
  if (averages_) made.averages.emplace_back(device, dtype());
  return made;
}

// Arena space is recycled: what lies in a new variable's segments may be an old one's.
void OptimizerState::reset_segments(int index, const Nodes& kept) {
  Copy& copy = copies_[static_cast<size_t>(index)];
  const ArenaLayout layout = store_->layout(dtype());
  for (const Variable& variable : variables_) {
    if (kept.contains(&variable.node())) continue;
    const Segment& segment = variable.node().segment;
    const Segment whole = ArenaLayout::with_gap(segment);
    for (size_t slot = 0; slot < copy.slot_planes.size(); ++slot) {
      copy.slot_planes[slot].reset(layout, whole);
      if (formula_.slot_begins_as_weight(slot))
        copy.slot_planes[slot].view(layout, segment).copy_from(store_->weights(index, dtype(), segment));
    }
    for (Plane& average : copy.averages) average.reset(layout, whole);
  }
}

bool OptimizerState::has_moved(const Variable& variable, const Segment& place) const {
  const VariableNode& node = variable.node();
  return node.segment.chunk != place.chunk || node.segment.offset != place.offset ||
         node.owner.lock().get() != static_cast<const SegmentOwner*>(store_.get());
}

OptimizerState::Nodes OptimizerState::unmoved() const {
  Nodes nodes;
  for (size_t i = 0; i < variables_.size(); ++i)
    if (!has_moved(i, *store_)) nodes.insert(&variables_[i].node());
  return nodes;
}

std::vector<std::pair<StateEntry, Tensor>> OptimizerState::left_behind(const Nodes& kept,
                                                                       const Variables& wanted) const {
  Nodes moved;
  for (const Variable& variable : wanted)
    if (!kept.contains(&variable.node())) moved.insert(&variable.node());
  std::vector<std::pair<StateEntry, Tensor>> left;
  for (StateEntry& entry : entries()) {
    const bool in_plane = entry.kind == StateEntry::Kind::average || entry.kind == StateEntry::Kind::slot;
    if (!in_plane || !moved.contains(&entry.variable.node())) continue;
    Tensor value = detail::copy_on_host(shared(entry));
    entry.place = entry.variable.node().segment;
    left.emplace_back(std::move(entry), std::move(value));
  }
  return left;
}

std::vector<StateEntry> OptimizerState::entries() const {
  std::vector<StateEntry> entries;
  const auto add_all = [&](StateEntry::Kind kind, const char* suffix) {
    for (size_t i = 0; i < variables_.size(); ++i)
      entries.push_back(
          {kind, 0, variables_[i], variable_name(variables_[i], suffix), variables_[i].shape(), places_[i]});
  };
  if (averages_) add_all(StateEntry::Kind::average, "average");
  if (accumulates_) add_all(StateEntry::Kind::accumulator, "gradient_accumulator");
  add_slot_entries(entries);
  return entries;
}

void OptimizerState::add_slot_entries(std::vector<StateEntry>& entries) const {
  const std::vector<std::string> names = formula_.slot_names();
  const size_t together = formula_.interleaved_slots();
  const auto add = [&](size_t slot, size_t i) {
    const Variable& variable = variables_[i];
    entries.push_back({StateEntry::Kind::slot, slot, variable, variable_name(variable, names[slot]),
                       variable.shape(), places_[i]});
  };
  for (size_t i = 0; i < variables_.size(); ++i) {
    const std::vector<SlotInFile> own = formula_.slots_in_file(variables_[i]);
    for (const SlotInFile& slot : own)
      entries.push_back({slot.placeholder ? StateEntry::Kind::placeholder : StateEntry::Kind::slot, slot.slot,
                         variables_[i], slot.name, slot.shape, places_[i]});
    for (size_t slot = 0; slot < together && own.empty(); ++slot) add(slot, i);
  }
  for (size_t slot = together; slot < names.size(); ++slot)
    for (size_t i = 0; i < variables_.size(); ++i) add(slot, i);
}

Tensor OptimizerState::view_of(const StateEntry& entry, Copy& copy) const {
  const bool is_average = entry.kind == StateEntry::Kind::average;
  Plane& plane = is_average ? copy.averages.front() : copy.slot_planes[entry.slot];
  return plane.view(store_->layout(dtype()), entry.place)
      .rows(0, entry.shape.num_elements())
      .with_shape(entry.shape);
}

Tensor OptimizerState::shared(const StateEntry& entry) const {
  if (entry.kind == StateEntry::Kind::placeholder) return Tensor::zeros({}, DType::int32);
  const Tensor value = view_of(entry, copies_.front());
  return is_on_host(value.device()) ? value : detail::copy_on_host(value);
}

void OptimizerState::write(const StateEntry& entry, const Tensor& value) {
  if (entry.kind == StateEntry::Kind::placeholder) return;
  for (Copy& copy : copies_) view_of(entry, copy).copy_from(value);
}

}  // namespace nyala
