#include <nyala/api/training/state/random_keys.h>

#include <set>

namespace nyala {

namespace {

void collect_keys(LayerNode& node, std::set<const LayerNode*>& seen, std::vector<uint64_t*>& keys) {
  if (!seen.insert(&node).second) return;
  if (uint64_t* key = node.random_key()) keys.push_back(key);
  for (const auto& [attribute, layer] : node.sublayers()) collect_keys(layer.node(), seen, keys);
}

}  // namespace

std::vector<uint64_t*> random_keys(LayerNode& node) {
  std::set<const LayerNode*> seen;
  std::vector<uint64_t*> keys;
  collect_keys(node, seen, keys);
  return keys;
}

}  // namespace nyala
