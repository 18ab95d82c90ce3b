// The same values as in a checkpoint, but in the order in which one program has them everywhere, and without
// a file: a copy is a few moves of memory, which may follow every step.
#include <nyala/api/training/state/training_state.h>

#include <algorithm>

#include <nyala/api/model/model_node.h>
#include <nyala/api/training/state/compiled_training.h>
#include <nyala/api/training/state/random_keys.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/parameters/sum_over_replicas.h>
#include <nyala/backend/runtime/process_exchange.h>
#include <nyala/backend/runtime/random.h>
#include <nyala/strategies/assign_by_rows.h>

namespace nyala {

using namespace nyala::detail;

namespace {

void add_optimizers(const LayerNode& node, std::vector<Optimizer>& all) {
  const auto add = [&all](const Optimizer& optimizer) {
    const auto is_it = [&](const Optimizer& known) { return &known.node() == &optimizer.node(); };
    if (optimizer && std::ranges::none_of(all, is_it)) all.push_back(optimizer);
  };
  if (const auto* model = dynamic_cast<const ModelNode*>(&node)) {
    if (model->training()) add(model->compiled_training().optimizer);
    for (const auto& [attribute, optimizer] : model->own_optimizers()) add(optimizer);
  }
  for (const auto& [attribute, layer] : node.sublayers()) add_optimizers(layer.node(), all);
}

std::vector<Optimizer> optimizers_of(const ModelNode& model) {
  std::vector<Optimizer> all;
  add_optimizers(model, all);
  return all;
}

Tensor value_of(const Variable& variable) {
  const bool is_whole_here = !is_sum_over_replicas(variable) && !variable.node().copies[0].is_abstract();
  return is_whole_here ? variable.node().copies[0] : variable.value();
}

/// Puts a copy of `value` behind the first `count` ones.
void put(const Tensor& value, TrainingState& state, size_t& count) {
  if (count == state.values.size()) state.values.emplace_back();
  Tensor& place = state.values[count++];
  if (!place.defined() || place.shape() != value.shape() || place.dtype() != value.dtype())
    place = Tensor::empty(value.shape(), value.dtype(), Device{});
  place.copy_from(value);
}

void put(const BaseOptimizer& optimizer, const Variables& variables, TrainingState& state, size_t& count) {
  TrainingState::Built built{.built = optimizer.built()};
  for (const Variable& variable : optimizer.variables())
    built.variables.push_back(std::ranges::find(variables, variable) - variables.begin());
  const size_t first = count;
  for (const OptimizerVariable& variable :
       built.built ? optimizer.shared_variables_for_file() : optimizer.variables_before_build())
    put(variable.value, state, count);
  built.values = static_cast<int64_t>(count - first);
  state.optimizers.push_back(std::move(built));
}

/// Those at `places`.
Variables chosen(const Variables& variables, const std::vector<int64_t>& places) {
  Variables out;
  for (const int64_t place : places) out.push_back(variables.at(static_cast<size_t>(place)));
  return out;
}

// One that was built since goes back to its beginning: without variables it forgets their state.
void restore(BaseOptimizer& optimizer, ParameterStore& store, const Variables& variables,
             const TrainingState::Built& built, Tensors values) {
  if (built.built) {
    if (const Variables own = chosen(variables, built.variables);
        !optimizer.built() || optimizer.variables() != own)
      optimizer.build(store, own);
  } else if (optimizer.built()) {
    const Variables own = optimizer.variables();
    optimizer.build(store, {});
    optimizer.build(store, own);
    const std::vector<OptimizerVariable> all = optimizer.variables_for_file();
    for (size_t i = values.size(); i < all.size(); ++i) values.push_back(all[i].value);
  }
  optimizer.load_variables(values);
}

std::vector<Device> places_of(StrategyNode& strategy) {
  std::vector<Device> places(static_cast<size_t>(strategy.num_replicas_in_sync()));
  for (int index = 0; index < strategy.num_local_replicas(); ++index)
    places[static_cast<size_t>(strategy.replica_id(index))] = strategy.device(index);
  return places;
}

}  // namespace

void copy_sums(const ModelNode& model, TrainingState& state) {
  if (model.training()) {
    const EpochSums& sums = model.epoch_sums();
    state.sums = saved_sums(sums);
    state.loss_is_tracked = sums.loss_is_tracked;
    state.logged = sums.logged_of_all;
  }
  state.own_metrics.clear();
  for (const Metric& metric : model.own_metrics())
    state.own_metrics.push_back(metric.sums().parts(metric.node()));
}

void restore_sums(ModelNode& model, const TrainingState& state) {
  StrategyNode& strategy = *model.strategy();
  if (model.training()) {
    EpochSums& sums = model.epoch_sums();
    nyala::restore_sums(model.compiled_training(), sums, state.sums, strategy);
    sums.loss_is_tracked = state.loss_is_tracked;
    for (auto& of_replica : sums.logged) of_replica.clear();
    sums.logged_of_all = state.logged;
  }
  for (size_t i = 0; i < state.own_metrics.size(); ++i) {
    const Metric& metric = model.own_metrics().at(i);
    metric.sums().set_parts(metric.node(), state.own_metrics[i], places_of(strategy));
  }
}

bool can_be_copied(const ModelNode& model) {
  return std::ranges::none_of(optimizers_of(model), [](const Optimizer& optimizer) {
    return optimizer.node().built() && optimizer.node().accumulates_into_existing();
  });
}

Variables variables_with_state(const ModelNode& model) {
  Variables all = model.variables();
  const Variables hidden = model.hidden_state();
  all.insert(all.end(), hidden.begin(), hidden.end());
  return all;
}

bool is_copied_together(const ModelNode& model) {
  return std::ranges::any_of(variables_with_state(model), is_sum_over_replicas);
}

void copy_state(ModelNode& model, TrainingState& state) {
  size_t count = 0;
  const Variables variables = variables_with_state(model);
  Tensors values;  // first: where a process is lost in a sum over all, the copy before stays whole
  for (const Variable& variable : variables) values.push_back(value_of(variable));
  for (const Tensor& value : values) put(value, state, count);
  state.optimizers.clear();
  for (const Optimizer& optimizer : optimizers_of(model)) put(optimizer.node(), variables, state, count);
  state.values.resize(count);
  if (model.training()) state.resume = model.resume_point();
  state.stops = model.stop_training();
  state.random_keys.clear();
  for (const uint64_t* key : random_keys(model)) state.random_keys.push_back(*key);
  copy_sums(model, state);
}

void restore_state(ModelNode& model, const TrainingState& state) {
  const Variables variables = variables_with_state(model);
  const size_t num_weights = variables.size() - model.hidden_state().size();
  auto value = state.values.begin();
  for (size_t i = 0; i < variables.size(); ++i, ++value)
    if (i < num_weights)
      variables[i].assign(*value);
    else
      assign_by_rows(variables[i], *value);
  const std::vector<Optimizer> optimizers = optimizers_of(model);
  for (size_t i = 0; i < optimizers.size(); ++i) {
    const TrainingState::Built& built = state.optimizers.at(i);
    restore(optimizers[i].node(), model.strategy()->store(), variables, built, {value, value + built.values});
    value += built.values;
  }
  const std::vector<uint64_t*> keys = random_keys(model);
  for (size_t i = 0; i < keys.size(); ++i) *keys[i] = state.random_keys.at(i);
  if (model.training()) model.resume_point() = state.resume;
  model.set_stop_training(state.stops);
  restore_sums(model, state);
}

uint64_t kind_of_state(const ModelNode& model) {
  uint64_t number = mix_key(0, model.has_call() ? "model" : "parts");
  for (const Variable& variable : variables_with_state(model))
    number = mix_key(mix_key(mix_key(number, variable.path()), variable.shape().to_string()),
                     name_of(variable.dtype()));
  for (const Optimizer& optimizer : optimizers_of(model))
    number = mix_key(number, optimizer.node().class_name());
  return mix_key(number, model.own_metrics().size());
}

}  // namespace nyala
