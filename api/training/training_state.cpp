#include <nyala/api/training/training_state.h>

#include <map>
#include <mutex>

#include <nyala/backend/core/error.h>

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
