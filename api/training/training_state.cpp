#include <nyala/api/training/training_state.h>

#include <map>
#include <mutex>

#include <nyala/backend/core/error.h>
#include <nyala/backend/core/log.h>

namespace nyala {

namespace {

void collect(const LayerNode& node, std::vector<RegularizedWeight>& out) {
  for (const RegularizedWeight& weight : node.regularized()) out.push_back(weight);
  for (const auto& [attribute, layer] : node.sublayers()) collect(layer.node(), out);
}

void collect(const LayerNode& node, std::vector<ConstrainedWeight>& out) {
  for (const ConstrainedWeight& weight : node.constrained()) out.push_back(weight);
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

void restore_sums(TrainingState& state, SavedSums saved) {
  state.rows = saved.rows;
  state.restored_sums = std::move(saved);
  if (state.sums.empty()) return;
  const SavedSums& from = state.restored_sums;
  const size_t width = static_cast<size_t>(state.num_sums), replicas = state.sums.size();
  std::vector<std::vector<double>> values(replicas, std::vector<double>(width, 0.0));
  const bool fits = from.values.size() == width * static_cast<size_t>(from.parts);
  if (fits) {
    const bool same_replicas = from.parts == static_cast<int64_t>(replicas);
    for (size_t i = 0; i < from.values.size(); ++i)
      values[same_replicas ? i / width : 0][i % width] += from.values[i];
  } else if (from.parts > 0) {
    log(LogChannel::warning, "the checkpoint was made with other losses or metrics; those of the epoch that it "
                             "interrupts begin anew");
    state.rows = 0;
  }
  for (size_t i = 0; i < replicas; ++i) state.sums[i].copy_from_host(values[i].data());
  state.restored_sums = {};
}

std::vector<RegularizedWeight> regularized_weights(const ModelNode& model) {
  std::vector<RegularizedWeight> out;
  collect(model, out);
  return out;
}

void build_optimizer(ModelNode& model) {
  std::vector<ConstrainedWeight> constrained;
  collect(model, constrained);
  Variables trainable;
  for (const Variable& variable : model.variables())
    if (variable.trainable()) trainable.push_back(variable);
  model.training->optimizer.node().build(model.strategy()->store(), trainable, std::move(constrained));
}

namespace {

/// Which thread has a model for itself.
struct Holders {
  std::mutex mutex;
  std::map<const ModelNode*, std::pair<std::thread::id, const char*>> by_model;
};

Holders& holders() {
  static Holders all;
  return all;
}

}  // namespace

ExclusiveUse::ExclusiveUse(ModelNode& model, const char* what) : model_(model) {
  Holders& all = holders();
  std::lock_guard lock(all.mutex);
  const auto [entry, taken] = all.by_model.try_emplace(&model, std::this_thread::get_id(), what);
  outermost_ = taken;
  if (!taken && entry->second.first != std::this_thread::get_id())
    throw StateError("model '" + model.name() + "': " + what + " was called while another thread runs " +
                     entry->second.second + " on it; wait for that to end");
}

ExclusiveUse::~ExclusiveUse() {
  if (!outermost_) return;
  Holders& all = holders();
  std::lock_guard lock(all.mutex);
  all.by_model.erase(&model_);
}

}  // namespace nyala
