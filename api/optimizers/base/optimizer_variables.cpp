#include <algorithm>

#include <nyala/api/optimizers/base/optimizer_node.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/runtime/process_exchange.h>

// An optimizer's part in files, and what becomes of its state where variables move.
namespace nyala {

using namespace nyala::detail;

namespace {

void check_shape(const Tensor& value, const Shape& expected, const std::string& name) {
  if (!value.defined() || value.shape() != expected)
    throw ShapeError("optimizer variable " + in_quotes(name) + ": expected shape " + expected.to_string() +
                     ", received " + (value.defined() ? value.shape().to_string() : "nothing"));
}

// Between updates the replicas' gradients hold what was gathered, not yet summed nor freed of the loss scale.
Tensor accumulated(ParameterStore& store, const Variable& variable, double scale) {
  Tensor sum = Tensor::zeros(variable.shape(), variable.dtype());
  dispatch_real(variable.dtype(), "optimizer", [&]<class T>(T) {
    for (int replica = 0; replica < store.num_local_replicas(); ++replica) {
      const std::vector<T> part = store.gradient(replica, variable).to_vector<T>();
      const std::span<T> total = sum.data<T>();
      for (size_t i = 0; i < part.size(); ++i) total[i] += static_cast<T>(part[i] / scale);
    }
  });
  if (store.processes()) store.processes()->all_reduce_sum(sum, "gathered gradients");
  return sum;
}

void set_accumulated(ParameterStore& store, const Variable& variable, const Tensor& value, double scale) {
  const Tensor scaled = value.clone();
  dispatch_real(variable.dtype(), "optimizer", [&]<class T>(T) {
    for (T& element : scaled.data<T>()) element = static_cast<T>(element * scale);
  });
  const bool has_first = !store.processes() || store.processes()->rank() == 0;
  for (int replica = 0; replica < store.num_local_replicas(); ++replica)
    store.gradient(replica, variable)
        .copy_from(replica == 0 && has_first ? scaled : Tensor::zeros(variable.shape(), variable.dtype()));
}

}  // namespace

void OptimizerNode::throw_gathered_lost(const Variable& variable) const {
  throw StateError(class_name() + ": its variable " + in_quotes(variable.path()) +
                   " moved to another strategy, with another model that shares it, between steps whose "
                   "gradients are gathered: those are lost; move models after an update, or compile() this "
                   "one again");
}

Tensor OptimizerNode::shared_accumulator(const StateEntry& entry) const {
  const Variable& variable = entry.variable;
  if (!accumulates_into_existing()) return Tensor::zeros(variable.shape(), variable.dtype());
  if (state_.has_moved(entry.variable, entry.place)) throw_gathered_lost(variable);
  return accumulated(state_.store(), variable, loss_scale());
}

std::vector<OptimizerVariable> OptimizerNode::shared_variables_for_file() const {
  std::vector<OptimizerVariable> result = variables_before_build();
  for (const StateEntry& entry : state_.entries()) {
    const bool gathered = entry.kind == StateEntry::Kind::accumulator;
    result.push_back({entry.name, gathered ? shared_accumulator(entry) : state_.shared(entry)});
  }
  for (OptimizerVariable& derived : derived_variables(iterations())) result.push_back(std::move(derived));
  return result;
}

std::vector<OptimizerVariable> OptimizerNode::variables_before_build() const {
  std::vector<OptimizerVariable> result = {{"iteration", Tensor::scalar(steps_)}};
  if (!options_.learning_rate.is_schedule()) result.push_back({"learning_rate", Tensor::scalar(rate_)});
  return result;
}

void OptimizerNode::load_variables(const std::vector<Tensor>& values) {
  const std::vector<StateEntry> entries = state_.entries();
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
    ready.push_back(ops::cast(copy_on_host(values[first + i]), entries[i].variable.dtype()));
  }
  steps_ = static_cast<int64_t>(values[0].item());
  if (first == 2) rate_ = static_cast<float>(values[1].item());
  for (size_t i = 0; i < entries.size(); ++i)
    if (entries[i].kind == StateEntry::Kind::accumulator)
      set_accumulated(state_.store(), entries[i].variable, ready[i], loss_scale());
    else
      state_.write(entries[i], ready[i]);
  ++times_loaded_;
}

void OptimizerNode::follow(ParameterStore& store) {
  bool moved = false;
  for (size_t i = 0; i < variables().size(); ++i) {
    const Variable& variable = variables()[i];
    if (!state_.has_moved(i, store)) continue;
    if (variable.node().owner.lock().get() != static_cast<const SegmentOwner*>(&store))
      throw StateError(class_name() + ": its variable " + in_quotes(variable.path()) +
                       " lies in another strategy than others that it updates; adopt all models that it "
                       "trains, or give each an optimizer of its own");
    if (accumulates_into_existing()) throw_gathered_lost(variable);
    moved = true;
  }
  if (moved) build(store, Variables(variables()));
}

}  // namespace nyala
