#include <nyala/api/training/training_state.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <set>

#include <nyala/backend/core/error.h>
#include <nyala/backend/core/log.h>
#include <nyala/backend/core/mutex.h>
#include <nyala/backend/ops/arithmetic.h>

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

std::vector<RegularizedWeight> regularized_weights(const ModelNode& model) {
  std::vector<RegularizedWeight> out;
  collect(model, out);
  return out;
}

namespace {

[[noreturn]] void throw_foreign_optimizer(const ModelNode& model) {
  const OptimizerNode& optimizer = model.training->optimizer.node();
  throw StateError("model " + detail::in_quotes(model.name()) + ": its optimizer (" + optimizer.class_name() +
                   ") updates the variables of another model (" +
                   detail::in_quotes(optimizer.variables().front().path()) +
                   ", ...); give every model an optimizer of its own");
}

}  // namespace

void check_optimizer(const ModelNode& model) {
  const Variables& variables = model.training->optimizer.node().variables();
  if (variables.empty()) return;
  const TrainingState& state = *model.training;
  if (!state.trains(variables.front()) || !state.trains(variables.back())) throw_foreign_optimizer(model);
}

void build_optimizer(ModelNode& model) {
  model.check_variables();
  const Variables& known = model.training->optimizer.node().variables();
  const Variables own = model.variables();
  if (!known.empty() && std::ranges::find_first_of(own, known) == own.end()) throw_foreign_optimizer(model);
  Variables trainable;
  for (const Variable& variable : own)
    if (model.trainable() && variable.trainable()) trainable.push_back(variable);
  std::vector<bool>& leaves = model.training->trained_leaves;
  leaves.assign(static_cast<size_t>(model.strategy()->store().num_leaves()), false);
  for (const Variable& variable : trainable) leaves[static_cast<size_t>(variable.node().leaf)] = true;
  model.training->optimizer.node().build(model.strategy()->store(), trainable);
}

namespace {

/// Who uses a model.
struct Use {
  uint64_t writer = 0;         // numbers of threads
  const char* what = nullptr;  // the writer's call; null: nobody writes
  int writes = 0;              // nested calls of the writer
  std::multiset<uint64_t> readers = {};
};

struct Uses {
  Mutex mutex{Mutex::AtFork::is_waited};
  std::map<const ModelNode*, Use> by_model;
};

Uses& uses() {
  static Uses* const all = new Uses;  // outlives static models
  return *all;
}

void release(Uses& all, const ModelNode& model) {
  const auto entry = all.by_model.find(&model);
  if (entry->second.writes == 0 && entry->second.readers.empty()) all.by_model.erase(entry);
}

[[noreturn]] void throw_busy(const ModelNode& model, const char* what, const Use& use) {
  if (use.writes > 0 && lost_in_fork(use.writer))
    throw StateError("model " + detail::in_quotes(model.name()) + ": " + what +
                     " was called in a process that was forked while another thread of its parent ran " +
                     use.what +
                     " on the model, whose weights so are not whole in this process; load a model " +
                     "of its own here, or fork while nothing is trained");
  const std::string other = use.writes > 0 ? use.what : "predict";
  throw StateError("model " + detail::in_quotes(model.name()) + ": " + what +
                   " was called while another thread runs " + other + " on it; wait for that to end");
}

}  // namespace

void refuse_inside_calls(const ModelNode& model, const char* what) {
  Uses& all = uses();
  std::lock_guard lock(all.mutex);
  const auto entry = all.by_model.find(&model);
  if (entry == all.by_model.end() || entry->second.writes == 0 || entry->second.writer != thread_number())
    return;
  throw StateError(
      "model " + detail::in_quotes(model.name()) + ": " + what + " was called inside " + entry->second.what +
      " (from a callback, loss, metric or step of it), which goes on with " +
      "what the model was compiled with; let that end first (set_stop_training(true) ends fit), " +
      "then call " + what);
}

ExclusiveUse::ExclusiveUse(ModelNode& model, const char* what) : model_(model) {
  Uses& all = uses();
  const uint64_t own = thread_number();
  std::lock_guard lock(all.mutex);
  Use& use = all.by_model[&model];
  std::erase_if(use.readers, lost_in_fork);
  if (use.writes > 0 && use.writer != own) throw_busy(model, what, use);
  if (use.readers.count(own) != use.readers.size()) throw_busy(model, what, use);
  if (use.writes++ > 0) return;
  use.writer = own;
  use.what = what;
}

ExclusiveUse::~ExclusiveUse() {
  Uses& all = uses();
  std::lock_guard lock(all.mutex);
  --all.by_model[&model_].writes;
  release(all, model_);
}

SharedUse::SharedUse(ModelNode& model, const char* what) : model_(model) {
  Uses& all = uses();
  const uint64_t own = thread_number();
  std::lock_guard lock(all.mutex);
  Use& use = all.by_model[&model];
  std::erase_if(use.readers, lost_in_fork);
  if (use.writes > 0 && use.writer != own) throw_busy(model, what, use);
  use.readers.insert(own);
}

SharedUse::~SharedUse() {
  Uses& all = uses();
  std::lock_guard lock(all.mutex);
  std::multiset<uint64_t>& readers = all.by_model[&model_].readers;
  readers.erase(readers.find(thread_number()));
  release(all, model_);
}

}  // namespace nyala
