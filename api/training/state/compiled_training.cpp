#include <nyala/api/training/state/compiled_training.h>

namespace nyala {

namespace {

void collect(const LayerNode& node, std::vector<RegularizedWeight>& out) {
  for (const RegularizedWeight& weight : node.regularized()) out.push_back(weight);
  for (const auto& [attribute, layer] : node.sublayers()) collect(layer.node(), out);
}

}  // namespace

bool CompiledTraining::trains(const Variable& variable) const {
  if (!trained) return variable.trainable();
  const size_t leaf = static_cast<size_t>(variable.node().leaf);
  return leaf < trained_leaves.size() && trained_leaves[leaf];
}

std::vector<RegularizedWeight> regularized_weights(const LayerNode& node) {
  std::vector<RegularizedWeight> out;
  collect(node, out);
  return out;
}

}  // namespace nyala
