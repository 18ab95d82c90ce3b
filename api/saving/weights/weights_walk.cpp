// Keras' _walk_saveable and _save_container_state (saving_lib.py): attributes in alphabetical order, lists
// numbered by class name in snake case. A layer that is met again is not walked again, but counts in its
// list.
#include <map>
#include <set>
#include <utility>

#include <nyala/api/layers/base/lora.h>
#include <nyala/api/model/functional.h>
#include <nyala/api/model/sequential.h>
#include <nyala/api/saving/weights/weights_walk.h>

namespace nyala {

using namespace nyala::detail;

namespace {

/// Without the factors of an adaptation, which files hold within the kernel.
Variables weights_in_files(const LayerNode& node) {
  Variables weights = node.own_weights();
  if (const auto* adapted = dynamic_cast<const HasLora*>(&node); adapted && adapted->lora().enabled())
    std::erase_if(weights, [&](const Variable& weight) {
      return weight == adapted->lora().a() || weight == adapted->lora().b();
    });
  return weights;
}

class Walk {
 public:
  void visit(const Layer& layer, const std::string& path) {
    if (!visited_.insert(&layer.node()).second) return;
    WeightsGroup group{path, layer.name(), layer, weights_in_files(layer.node())};
    for (const Variable& state : layer.node().own_state()) group.variables.push_back(state);
    groups.push_back(std::move(group));
    const auto* model = dynamic_cast<const ModelNode*>(&layer.node());
    if (!model) {
      visit_attributes(layer, path, {});
    } else if (dynamic_cast<const FunctionalNode*>(model) || dynamic_cast<const SequentialNode*>(model)) {
      visit_container(model->layers(), join(path, "layers"));
    } else {  // the list `layers` is one of a subclassed model's attributes, in its place in the alphabet
      visit_attributes(layer, path, "layers");
      visit_container(model->layers(), join(path, "layers"));
    }
  }

  std::vector<WeightsGroup> groups;

 private:
  static std::string join(const std::string& path, const std::string& name) {
    return path.empty() ? name : path + "/" + name;
  }

  /// Elements count by class even when they were visited before.
  void visit_container(const std::vector<Layer>& layers, const std::string& path) {
    std::map<std::string, int> counts;
    for (const Layer& layer : layers) {
      const std::string base = snake_case(layer.class_name());
      const int count = counts[base]++;
      visit(layer, join(path, count == 0 ? base : base + "_" + std::to_string(count)));
    }
  }

  /// Attributes in alphabetical order, private ones last; only those before `end` where it is given.
  void visit_attributes(const Layer& layer, const std::string& path, const std::string& end) {
    using Key = std::pair<bool, std::string>;
    std::map<Key, std::vector<Layer>> attributes;
    for (const auto& [name, sublayer] : layer.node().sublayers())
      attributes[{name.starts_with("_"), name}].push_back(sublayer);
    for (const auto& [key, sublayers] : attributes) {
      if (!end.empty() && key >= Key(false, end)) return;
      if (sublayers.size() == 1)
        visit(sublayers[0], join(path, key.second));
      else
        visit_container(sublayers, join(path, key.second));
    }
  }

  std::set<const LayerNode*> visited_;
};

}  // namespace

std::vector<WeightsGroup> walk_weights(const Layer& root) {
  const auto* model = dynamic_cast<const ModelNode*>(&root.node());
  if (const auto shared = model ? model->template_model() : nullptr) return walk_weights(Layer(shared));
  Walk walk;
  walk.visit(root, "");
  return std::move(walk.groups);
}

std::set<const LayerNode*> with_sublayers(const std::vector<Layer>& layers) {
  std::set<const LayerNode*> all;
  std::vector<Layer> open = layers;
  while (!open.empty()) {
    const Layer layer = open.back();
    open.pop_back();
    if (!all.insert(&layer.node()).second) continue;
    for (const auto& [name, sublayer] : layer.node().sublayers()) open.push_back(sublayer);
  }
  return all;
}

}  // namespace nyala
