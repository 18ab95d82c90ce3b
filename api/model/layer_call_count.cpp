#include <nyala/api/model/layer_call_count.h>

#include <algorithm>
#include <unordered_map>

#include <nyala/api/model/functional.h>
#include <nyala/backend/core/error.h>

namespace nyala::detail {

namespace {

using Counts = std::unordered_map<const LayerNode*, int64_t>;

int64_t count(const LayerNode& node, Counts& known) {
  if (const auto found = known.find(&node); found != known.end()) return found->second;
  int64_t calls = 0;  // a model is no call of its own
  const auto add = [&](int64_t more) { calls = std::min(calls + more, kMostLayerCalls + 1); };
  if (const auto* const functional = dynamic_cast<const FunctionalNode*>(&node)) {
    for (const auto& call : functional->topology().nodes)
      if (!call->is_input()) add(call->layer ? count(call->layer.node(), known) : 1);
  } else {
    if (!dynamic_cast<const ModelNode*>(&node)) add(1);
    for (const auto& [attribute, layer] : node.sublayers()) add(count(layer.node(), known));
  }
  return known[&node] = calls;
}

}  // namespace

int64_t count_layer_calls(const LayerNode& layer) {
  Counts known;
  return count(layer, known);
}

void check_layer_calls(const LayerNode& model) {
  if (count_layer_calls(model) > kMostLayerCalls)
    throw InvalidArgumentError(
        model.class_name() + ": expected a model that runs at most " + std::to_string(kMostLayerCalls) +
        " layers in one call, received one that runs more: nested models that call the next one twice each "
        "double the work with each level");
}

}  // namespace nyala::detail
