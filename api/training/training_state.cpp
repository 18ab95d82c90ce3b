// Running sums of an epoch are one float64 vector per replica, added up by the host when somebody reads them.
// A checkpoint keeps them replica by replica, so that the same devices go on bit by bit; on another number of
// devices the first takes all, and metrics split theirs by their own rule.
#include <nyala/api/training/training_state.h>

#include <algorithm>
#include <set>

#include <nyala/backend/core/error.h>
#include <nyala/backend/core/log.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/parameters/variable_changes.h>

namespace nyala {

namespace {

void collect(const LayerNode& node, std::vector<RegularizedWeight>& out) {
  for (const RegularizedWeight& weight : node.regularized()) out.push_back(weight);
  for (const auto& [attribute, layer] : node.sublayers()) collect(layer.node(), out);
}

}  // namespace

SavedSums saved_sums(const TrainingState& state) {
  if (state.sums.empty()) return state.restored_sums;
  SavedSums saved{static_cast<int64_t>(state.sums.size()), {}, state.rows};
  for (const Tensor& sums : state.sums) {
    const std::vector<double> own = sums.to_vector<double>();
    saved.values.insert(saved.values.end(), own.begin(), own.end());
  }
  return saved;
}

namespace {

using Sums = std::vector<double>;

/// The part of a metric.
Sums part_of(const Sums& sums, const CompiledMetric& metric) {
  const auto first = sums.begin() + metric.first_sum;
  return {first, first + metric.metric.node().state_size()};
}

void put(const Sums& part, const CompiledMetric& metric, Sums& sums) {
  std::copy(part.begin(), part.end(), sums.begin() + metric.first_sum);
}

/// Added up, metrics as they say.
Sums merged(const TrainingState& state, const std::vector<Sums>& replicas) {
  Sums sums(static_cast<size_t>(state.num_sums), 0.0);
  for (const Sums& own : replicas)
    for (size_t i = 0; i < own.size(); ++i) sums[i] += own[i];
  for (const CompiledMetric& metric : state.metrics) {
    std::vector<Sums> parts;
    for (const Sums& own : replicas) parts.push_back(part_of(own, metric));
    put(parts.empty() ? metric.metric.node().initial_state() : metric.metric.node().merged(parts), metric,
        sums);
  }
  return sums;
}

/// What each of `count` replicas goes on with.
std::vector<Sums> shares_of(const TrainingState& state, const Sums& sums, size_t count) {
  std::vector<Sums> replicas(count, Sums(sums.size(), 0.0));
  replicas[0] = sums;
  for (const CompiledMetric& metric : state.metrics)
    for (size_t i = 0; i < count; ++i)
      put(metric.metric.node().share_of(part_of(sums, metric), static_cast<int>(i)), metric, replicas[i]);
  return replicas;
}

}  // namespace

std::vector<double> summed(const TrainingState& state, const Tensors& of_replicas) {
  std::vector<Sums> replicas;
  for (const Tensor& own : of_replicas) replicas.push_back(own.to_vector<double>());
  return merged(state, replicas);
}

void begin_sums(const TrainingState& state, const Tensor& sums) {
  ops::detail::fill_zero(sums);
  for (const CompiledMetric& metric : state.metrics) {
    const Sums initial = metric.metric.node().initial_state();
    if (std::any_of(initial.begin(), initial.end(), [](double value) { return value != 0.0; }))
      sums.rows(metric.first_sum, static_cast<int64_t>(initial.size())).copy_from_host(initial.data());
  }
}

void restore_sums(TrainingState& state, SavedSums saved) {
  state.rows = saved.rows;
  state.restored_sums = std::move(saved);
  if (state.sums.empty()) return;
  const SavedSums& from = state.restored_sums;
  const size_t width = static_cast<size_t>(state.num_sums), replicas = state.sums.size();
  std::vector<Sums> values;
  if (from.parts > 0 && from.values.size() == width * static_cast<size_t>(from.parts)) {
    for (auto own = from.values.begin(); own != from.values.end(); own += static_cast<std::ptrdiff_t>(width))
      values.emplace_back(own, own + static_cast<std::ptrdiff_t>(width));
    if (values.size() != replicas) values = shares_of(state, merged(state, values), replicas);
  } else if (from.parts > 0) {
    log(LogChannel::warning,
        "the checkpoint was made with other losses or metrics; those of the epoch that it "
        "interrupts begin anew");
    state.rows = 0;
  }
  for (size_t i = 0; i < replicas; ++i) {
    if (values.empty())
      begin_sums(state, state.sums[i]);
    else
      state.sums[i].copy_from_host(values[i].data());
  }
  state.restored_sums = {};
}

bool TrainingState::trains(const Variable& variable) const {
  if (!trained) return variable.trainable();
  const size_t leaf = static_cast<size_t>(variable.node().leaf);
  return leaf < trained_leaves.size() && trained_leaves[leaf];
}

std::vector<RegularizedWeight> regularized_weights(const LayerNode& node) {
  std::vector<RegularizedWeight> out;
  collect(node, out);
  return out;
}

namespace {

[[noreturn]] void throw_foreign_optimizer(const ModelNode& model) {
  const BaseOptimizer& optimizer = model.training->optimizer.node();
  throw StateError("model " + detail::in_quotes(model.name()) + ": its optimizer (" + optimizer.class_name() +
                   ") updates the variables of another model (" +
                   detail::in_quotes(optimizer.variables().front().path()) +
                   ", ...); give every model an optimizer of its own");
}

}  // namespace

void find_trained(TrainingState& state, const ParameterStore& store) {
  state.trained_leaves.assign(static_cast<size_t>(store.num_leaves()), false);
  for (const Variable& variable : state.optimizer.node().variables())
    state.trained_leaves[static_cast<size_t>(variable.node().leaf)] = true;
}

void build_optimizer(ModelNode& model) {
  TrainingState& state = *model.training;
  state.looked_at = detail::variable_changes();
  model.check_variables();
  const Variables& known = state.optimizer.node().variables();
  Variables own = model.variables();
  if (!known.empty() && std::ranges::find_first_of(own, known) == own.end()) throw_foreign_optimizer(model);
  Variables trainable;
  for (const Variable& variable : own)
    if (model.trainable() && variable.trainable()) trainable.push_back(variable);
  state.optimizer.node().build(model.strategy()->store(), trainable);
  find_trained(state, model.strategy()->store());
  state.known = std::move(own);
}

namespace {

using Nodes = std::set<const VariableNode*>;

Nodes nodes_of(const Variables& variables) {
  Nodes nodes;
  for (const Variable& variable : variables) nodes.insert(&variable.node());
  return nodes;
}

/// Keras trains on without them, and says nothing.
void check_none_was_added(const ModelNode& model, const Variables& own, const Nodes& known) {
  if (model.has_own_train_step || !model.trainable()) return;  // its own optimizers say what they do not know
  for (const Variable& variable : own)
    if (variable.trainable() && !known.contains(&variable.node()))
      throw StateError("model " + detail::in_quotes(model.name()) + ": the variable " +
                       detail::in_quotes(variable.path()) +
                       " came with a layer that was added after training had begun: its optimizer does not "
                       "know it, and would leave it as it is; compile() the model again");
}

}  // namespace

void follow_variables(ModelNode& model) {
  TrainingState& state = *model.training;
  BaseOptimizer& optimizer = state.optimizer.node();
  const Variables& updated = optimizer.variables();
  const auto is_foreign = [&state](const Variable& variable) { return !state.trains(variable); };
  const uint64_t now = detail::variable_changes();
  if (state.looked_at != now) {
    const Variables own = model.variables();
    const Nodes known = nodes_of(state.known), held = nodes_of(own);
    if (std::ranges::count(state.trained_leaves, true) != std::ssize(updated)) throw_foreign_optimizer(model);
    check_none_was_added(model, own, known);
    Variables still;
    for (const Variable& variable : updated) {
      if (!known.contains(&variable.node())) throw_foreign_optimizer(model);
      if (held.contains(&variable.node())) still.push_back(variable);
    }
    if (optimizer.accumulates_into_existing()) optimizer.shared_variables_for_file();  // throws for lost ones
    optimizer.build(model.strategy()->store(), still);
    find_trained(state, model.strategy()->store());
    state.looked_at = now;
  }
  if (!updated.empty() && (is_foreign(updated.front()) || is_foreign(updated.back())))
    throw_foreign_optimizer(model);
}

}  // namespace nyala
