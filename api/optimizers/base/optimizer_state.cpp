// An optimizer's state is a list of entries (moving averages, accumulators, slots) in the order in which
// Keras' file has them; saving, loading and moving all go through that list. Loading checks and casts every
// value before the first is written, so a wrong file leaves the state as it was. Variables move to another
// strategy without asking their optimizers. The state that was left behind is found by comparing each
// variable's place with the one that the optimizer remembers, and is copied by way of the host.
#include <algorithm>

#include <nyala/api/optimizers/base/optimizer.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/cast.h>

namespace nyala {

using namespace nyala::detail;

namespace {

Tensor on_host(const Tensor& value) {
  Tensor host = Tensor::empty(value.shape(), value.dtype());
  value.copy_to_host(host.raw());
  return host;
}

std::string variable_name(const Variable& variable, const std::string& suffix) {
  std::string name = variable.path() + "_" + suffix;
  std::replace(name.begin(), name.end(), '/', '_');
  return name;
}

void check_shape(const Tensor& value, const Shape& expected, const std::string& name) {
  if (!value.defined() || value.shape() != expected)
    throw ShapeError("optimizer variable " + in_quotes(name) + ": expected shape " + expected.to_string() +
                     ", received " + (value.defined() ? value.shape().to_string() : "nothing"));
}

[[noreturn]] void throw_gathered_lost(const OptimizerNode& optimizer, const Variable& variable) {
  throw StateError(optimizer.class_name() + ": its variable " + in_quotes(variable.path()) +
                   " moved to another strategy, with another model that shares it, between steps whose "
                   "gradients are gathered: those are lost; move models after an update, or compile() this "
                   "one again");
}

}  // namespace

std::vector<OptimizerNode::StateEntry> OptimizerNode::state_entries() const {
  std::vector<StateEntry> entries;
  if (options_.use_ema)
    for (size_t i = 0; i < variables_.size(); ++i)
      entries.push_back({StateEntry::Kind::average, 0, variables_[i], variable_name(variables_[i], "average"),
                         variables_[i].shape(), place_of(i)});
  if (options_.gradient_accumulation_steps > 0)
    for (const Variable& variable : variables_)
      entries.push_back({StateEntry::Kind::accumulator, 0, variable,
                         variable_name(variable, "gradient_accumulator"), variable.shape(),
                         place_of(static_cast<size_t>(&variable - variables_.data()))});
  add_slot_entries(entries);
  return entries;
}

void OptimizerNode::add_slot_entries(std::vector<StateEntry>& entries) const {
  const std::vector<std::string> names = slot_names();
  const size_t together = interleaved_slots();
  const auto add = [&](size_t slot, size_t i) {
    const Variable& variable = variables_[i];
    entries.push_back({StateEntry::Kind::slot, slot, variable, variable_name(variable, names[slot]),
                       variable.shape(), place_of(i)});
  };
  for (size_t i = 0; i < variables_.size(); ++i) {
    const std::vector<SlotInFile> own = slots_in_file(variables_[i]);
    for (const SlotInFile& slot : own)
      entries.push_back({slot.placeholder ? StateEntry::Kind::placeholder : StateEntry::Kind::slot, slot.slot,
                         variables_[i], slot.name, slot.shape, place_of(i)});
    for (size_t slot = 0; slot < together && own.empty(); ++slot) add(slot, i);
  }
  for (size_t slot = together; slot < names.size(); ++slot)
    for (size_t i = 0; i < variables_.size(); ++i) add(slot, i);
}

Plane& OptimizerNode::plane_of(const StateEntry& entry, Copy& copy) const {
  return entry.kind == StateEntry::Kind::average ? copy.averages.front() : copy.slot_planes[entry.slot];
}

Tensor OptimizerNode::shared(const StateEntry& entry) const {
  if (entry.kind == StateEntry::Kind::placeholder) return Tensor::zeros({}, DType::int32);
  if (entry.kind == StateEntry::Kind::accumulator) {
    if (accumulates_into_existing() && has_moved(entry.variable, entry.place))
      throw_gathered_lost(*this, entry.variable);
    return accumulated(entry.variable);
  }
  const Tensor value = plane_of(entry, copies_.front())
                           .view(store_->layout(dtype()), entry.place)
                           .rows(0, entry.shape.num_elements())
                           .with_shape(entry.shape);
  return value.device().kind == DeviceKind::cpu ? value : on_host(value);
}

void OptimizerNode::write(const StateEntry& entry, const Tensor& value) {
  if (entry.kind == StateEntry::Kind::placeholder) return;
  if (entry.kind == StateEntry::Kind::accumulator) return set_accumulated(entry.variable, value);
  for (Copy& copy : copies_)
    plane_of(entry, copy)
        .view(store_->layout(dtype()), entry.place)
        .rows(0, entry.shape.num_elements())
        .with_shape(entry.shape)
        .copy_from(value);
}

// Between updates the replicas' gradients hold what was gathered, not yet summed nor freed of the loss scale.
Tensor OptimizerNode::accumulated(const Variable& variable) const {
  Tensor sum = Tensor::zeros(variable.shape(), variable.dtype());
  if (!accumulates_into_existing()) return sum;
  const double scale = loss_scale();
  dispatch_real(variable.dtype(), "optimizer", [&]<class T>(T) {
    for (int replica = 0; replica < store_->num_replicas(); ++replica) {
      const std::vector<T> part = store_->gradient(replica, variable).to_vector<T>();
      const std::span<T> total = sum.data<T>();
      for (size_t i = 0; i < part.size(); ++i) total[i] += static_cast<T>(part[i] / scale);
    }
  });
  return sum;
}

void OptimizerNode::set_accumulated(const Variable& variable, const Tensor& value) {
  const double scale = loss_scale();
  const Tensor scaled = value.clone();
  dispatch_real(variable.dtype(), "optimizer", [&]<class T>(T) {
    for (T& element : scaled.data<T>()) element = static_cast<T>(element * scale);
  });
  for (int replica = 0; replica < store_->num_replicas(); ++replica)
    store_->gradient(replica, variable)
        .copy_from(replica == 0 ? scaled : Tensor::zeros(variable.shape(), variable.dtype()));
}

std::vector<OptimizerVariable> OptimizerNode::variables_for_file() const {
  std::vector<OptimizerVariable> result = shared_variables_for_file();
  for (OptimizerVariable& variable : result) variable.value = on_host(variable.value);
  return result;
}

std::vector<OptimizerVariable> OptimizerNode::shared_variables_for_file() const {
  std::vector<OptimizerVariable> result = variables_before_build();
  for (const StateEntry& entry : state_entries()) result.push_back({entry.name, shared(entry)});
  for (OptimizerVariable& derived : derived_variables(iterations())) result.push_back(std::move(derived));
  return result;
}

std::vector<OptimizerVariable> OptimizerNode::variables_before_build() const {
  std::vector<OptimizerVariable> result = {{"iteration", Tensor::scalar(steps_)}};
  if (!options_.learning_rate.is_schedule()) result.push_back({"learning_rate", Tensor::scalar(rate_)});
  return result;
}

void OptimizerNode::load_variables(const std::vector<Tensor>& values) {
  const std::vector<StateEntry> entries = state_entries();
  const size_t first = options_.learning_rate.is_schedule() ? 1 : 2;
  const size_t expected = first + entries.size() + derived_variables(iterations()).size();
  if (values.size() != expected)
    throw ShapeError(class_name() + ": expected " + std::to_string(expected) +
                     " optimizer variables, received " + std::to_string(values.size()) +
                     (built() ? "" : "; the optimizer has not been built yet"));
  check_shape(values[0], {}, "iteration");
  if (first == 2) check_shape(values[1], {}, "learning_rate");
  std::vector<Tensor> ready;
  for (size_t i = 0; i < entries.size(); ++i) {
    check_shape(values[first + i], entries[i].shape, entries[i].name);
    ready.push_back(ops::cast(on_host(values[first + i]), entries[i].variable.dtype()));
  }
  steps_ = static_cast<int64_t>(values[0].item());
  if (first == 2) rate_ = static_cast<float>(values[1].item());
  for (size_t i = 0; i < entries.size(); ++i) write(entries[i], ready[i]);
}

bool OptimizerNode::has_moved(const Variable& variable, const Segment& place) const {
  const VariableNode& node = variable.node();
  return node.segment.chunk != place.chunk || node.segment.offset != place.offset ||
         node.owner.lock().get() != static_cast<const SegmentOwner*>(store_.get());
}

std::set<const VariableNode*> OptimizerNode::unmoved() const {
  std::set<const VariableNode*> nodes;
  for (size_t i = 0; i < variables_.size(); ++i)
    if (!has_moved(variables_[i], place_of(i))) nodes.insert(&variables_[i].node());
  return nodes;
}

// Variables move without asking their optimizers, which know where they left their state.
std::vector<std::pair<OptimizerNode::StateEntry, Tensor>> OptimizerNode::state_left_behind(
    const std::set<const VariableNode*>& kept, const Variables& wanted) const {
  std::set<const VariableNode*> moved;
  for (const Variable& variable : wanted)
    if (!kept.contains(&variable.node())) moved.insert(&variable.node());
  std::vector<std::pair<StateEntry, Tensor>> left;
  for (StateEntry& entry : state_entries()) {
    const bool in_plane = entry.kind == StateEntry::Kind::average || entry.kind == StateEntry::Kind::slot;
    if (!in_plane || !moved.contains(&entry.variable.node())) continue;
    Tensor value = on_host(shared(entry));
    entry.place = entry.variable.node().segment;
    left.emplace_back(std::move(entry), std::move(value));
  }
  return left;
}

void OptimizerNode::follow(ParameterStore& store) {
  bool moved = false;
  for (size_t i = 0; i < variables_.size(); ++i) {
    if (store_.get() == &store && !has_moved(variables_[i], place_of(i))) continue;
    if (variables_[i].node().owner.lock().get() != static_cast<const SegmentOwner*>(&store))
      throw StateError(class_name() + ": its variable " + in_quotes(variables_[i].path()) +
                       " lies in another strategy than others that it updates; adopt all models that it "
                       "trains, or give each an optimizer of its own");
    if (accumulates_into_existing()) throw_gathered_lost(*this, variables_[i]);
    moved = true;
  }
  if (moved) build(store, Variables(variables_));
}

void OptimizerNode::move_to(ParameterStore& store, const std::vector<Tensor>& state) {
  build(store, Variables(variables_));
  load_variables(state);
}

}  // namespace nyala
