#include <algorithm>
#include <mutex>

#include <nyala/api/model/model.h>
#include <nyala/api/training/state/compiled_training.h>
#include <nyala/backend/core/error.h>

namespace nyala {

using namespace nyala::detail;

Optimizer Model::optimizer() const {
  const std::lock_guard lock(model_node().building());
  if (!compiled())
    throw StateError("model " + in_quotes(name()) + " has no optimizer yet; call compile() first");
  return model_node().compiled_training().optimizer;
}

std::vector<Optimizer> ModelNode::all_optimizers() const {
  std::vector<Optimizer> all;
  const auto add = [&all](const Optimizer& optimizer) {
    const auto is_it = [&](const Optimizer& known) { return &known.node() == &optimizer.node(); };
    if (optimizer && std::ranges::none_of(all, is_it)) all.push_back(optimizer);
  };
  if (training_) add(compiled_training().optimizer);
  for (const auto& [attribute, optimizer] : own_optimizers_) add(optimizer);
  return all;
}

namespace {

bool holds_inside(const LayerNode& node, const BaseOptimizer& optimizer) {
  for (const auto& [attribute, layer] : node.sublayers()) {
    const auto* model = dynamic_cast<const ModelNode*>(&layer.node());
    if (model ? model->holds(optimizer) : holds_inside(layer.node(), optimizer)) return true;
  }
  return false;
}

}  // namespace

bool ModelNode::holds(const BaseOptimizer& optimizer) const {
  if (training_)
    if (const Optimizer& own = compiled_training().optimizer; own && &own.node() == &optimizer) return true;
  for (const auto& [attribute, own] : own_optimizers_)
    if (&own.node() == &optimizer) return true;
  return holds_inside(*this, optimizer);
}

}  // namespace nyala
