// Keras' serialization of functional models: layers by depth with all their calls, a tensor as (layer, number
// of its call, number of its output). Masks that were traced are arguments, as Keras writes them.
#include <map>
#include <string>
#include <vector>

#include <nyala/api/layers/base/call_arguments.h>
#include <nyala/api/layers/base/takes_dictionary.h>
#include <nyala/api/layers/rnn/recurrent_layer.h>
#include <nyala/api/model/functional.h>
#include <nyala/api/saving/config/file_operation.h>
#include <nyala/api/saving/config/layer_config.h>
#include <nyala/api/saving/ops/op_constants.h>

namespace nyala {

using namespace nyala::detail;

namespace {

/// The calls of a functional model as files number them.
class GraphWriter {
 public:
  explicit GraphWriter(const FunctionalNode& model) : model_(model) {
    std::map<std::string, int> calls;
    for (const auto& node : model.topology().nodes) place_[node.get()] = calls[name_of_node(*node)]++;
  }

  Json config() const {
    Json config = {{"name", model_.name()}, {"trainable", model_.trainable()}};
    Json layers = Json::array();
    for (const auto& operation : model_.topology().operations) layers.push_back(entry(*operation));
    config["layers"] = std::move(layers);
    config["input_layers"] = ends(model_.inputs(), model_.nesting().inputs);
    config["output_layers"] = ends(model_.outputs(), model_.nesting().outputs);
    return config;
  }

 private:
  static std::string name_of_node(const GraphNode& node) {
    const Layer layer = FunctionalNode::layer_of(node);
    return layer ? layer.name() : node.name;
  }

  Json history(const Tensor& tensor) const {
    const SymbolicMetadata& metadata = *symbolic(tensor);
    return {name_of_node(*metadata.producer), place_.at(metadata.producer.get()), metadata.index};
  }

  Json keras_tensor(const Tensor& tensor) const {
    return {{"class_name", "__keras_tensor__"},
            {"config",
             {{"shape", shape_to_json(tensor.shape())},
              {"dtype", std::string(nyala::name_of(tensor.dtype()))},
              {"keras_history", history(tensor)}}}};
  }

  /// What a layer is called with.
  Json input_json(const Tensor& tensor) const {
    return symbolic(tensor) ? keras_tensor(tensor) : array_to_json(tensor);
  }

  /// The mask of the call for input `i`, or null where it has none that a file holds.
  Json mask_json(const GraphNode& node, size_t i) const {
    if (i >= node.masks.size()) return {};
    if (symbolic(node.masks[i])) return keras_tensor(node.masks[i]);
    return node.has_own_mask(i) ? array_to_json(node.masks[i]) : Json();
  }

  /// The same as the call's argument of this name, where there is one.
  void add_mask(const GraphNode& node, size_t i, const std::string& name, Json& keywords) const {
    if (Json mask = mask_json(node, i); !mask.is_null()) keywords[name] = std::move(mask);
  }

  Json ends(const Tensors& tensors, const std::string& nesting) const {
    if (!nesting.empty())
      return nested(parse_json(nesting, "nesting"), [&](size_t i) { return end_history(tensors.at(i)); });
    if (tensors.size() == 1) return end_history(tensors[0]);
    Json list = Json::array();
    for (const Tensor& tensor : tensors) list.push_back(end_history(tensor));
    return list;
  }

  /// Here Keras counts the graph of a functional model as its first call.
  Json end_history(const Tensor& tensor) const {
    Json json = history(tensor);
    const Layer layer = FunctionalNode::layer_of(*symbolic(tensor)->producer);
    if (layer && dynamic_cast<const FunctionalNode*>(&layer.node())) json[1] = json[1].get<int64_t>() + 1;
    return json;
  }

  /// What `each` gives for the places that `json` nests.
  template <class Each>
  static Json nested(const Json& json, const Each& each) {
    if (json.is_number()) return each(json.get<size_t>());
    Json out = json;
    for (Json& item : out) item = nested(item, each);
    return out;
  }

  /// The tensors of a call under their keys (see TakesDictionary).
  Json dictionary(const std::vector<std::string>& keys, const GraphNode& node) const {
    Json out = Json::object();
    for (size_t i = 0; i < keys.size(); ++i) {
      const size_t slash = keys[i].find('/');
      Json& place = slash == std::string::npos ? out[keys[i]]
                                               : out[keys[i].substr(0, slash)][keys[i].substr(slash + 1)];
      place = input_json(node.inputs.at(i));
    }
    return out;
  }

  /// The arguments of an attention layer's call, each mask under the name of its tensor.
  void add_named_arguments(const GraphNode& node, Json& args, Json& keywords) const {
    static const std::vector<std::string>& order = *new std::vector<std::string>{"query", "value", "key"};
    const std::vector<std::string> names =
        node.arguments ? node.arguments->tensors : std::vector<std::string>();
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (i < names.size() && i >= 2 && names[i].empty()) continue;  // holds the key's place
      const bool named = i < names.size() && !names[i].empty();
      if (named)
        keywords[names[i]] = input_json(node.inputs[i]);
      else
        args.push_back(input_json(node.inputs[i]));
      if (i < order.size()) add_mask(node, i, order[i] + "_mask", keywords);
    }
  }

  /// A list of all tensors, and of their masks if the layer looks at them.
  void add_list_arguments(const GraphNode& node, Json& args, Json& keywords) const {
    Json all = Json::array(), masks = Json::array();
    bool masked = false;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      all.push_back(input_json(node.inputs[i]));
      masks.push_back(mask_json(node, i));
      masked = masked || !masks.back().is_null();
    }
    args.push_back(all);
    if (masked) keywords["mask"] = masks;
  }

  void add_recurrent_arguments(const GraphNode& node, Json& args, Json& keywords) const {
    Json states = Json::array();
    for (size_t i = 1; i < node.inputs.size(); ++i) states.push_back(input_json(node.inputs[i]));
    args.push_back(input_json(node.inputs[0]));
    if (!states.empty()) keywords["initial_state"] = states;
    add_mask(node, 0, "mask", keywords);
  }

  /// The tensors as the model nests its inputs, and their masks if there is one.
  void add_nested_arguments(const GraphNode& node, const std::string& nesting, Json& args,
                            Json& keywords) const {
    const Json places = parse_json(nesting, "nesting");
    bool masked = false;
    args.push_back(nested(places, [&](size_t i) { return input_json(node.inputs.at(i)); }));
    Json masks = nested(places, [&](size_t i) {
      Json mask = mask_json(node, i);
      masked = masked || !mask.is_null();
      return mask;
    });
    if (masked) keywords["mask"] = std::move(masks);
  }

  Json layer_arguments(const GraphNode& node) const {
    Json args = Json::array(), keywords = Json::object();
    const auto* const model = dynamic_cast<const FunctionalNode*>(&node.layer.node());
    if (model && !model->nesting().inputs.empty()) {
      add_nested_arguments(node, model->nesting().inputs, args, keywords);
    } else if (const auto* const named = dynamic_cast<const TakesDictionary*>(&node.layer.node());
               named && node.inputs.size() > 1) {
      args.push_back(dictionary(named->keys(node.inputs.size()), node));
    } else if (node.layer.node().takes_named_tensors()) {
      add_named_arguments(node, args, keywords);
    } else if (takes_initial_states(node.layer)) {
      add_recurrent_arguments(node, args, keywords);
    } else if (node.layer.class_name() == "CategoryEncoding" && node.inputs.size() == 2) {
      args.push_back(input_json(node.inputs[0]));
      keywords["count_weights"] = input_json(node.inputs[1]);
    } else if (node.layer.node().takes_many()) {
      add_list_arguments(node, args, keywords);
    } else {
      args.push_back(keras_tensor(node.inputs[0]));
      add_mask(node, 0, "mask", keywords);
    }
    if (node.arguments)
      for (const auto& [name, value] : node.arguments->flags) keywords[name] = value;
    return {{"args", args}, {"kwargs", keywords}};
  }

  /// The arguments with the tensors that {"input": i} stands for.
  Json with_tensors(const Json& json, const GraphNode& node) const {
    if (json.is_object() && json.size() == 1 && json.contains("input") &&
        json["input"].is_number_unsigned() && json["input"].get<size_t>() < node.inputs.size())
      return keras_tensor(node.inputs[json["input"].get<size_t>()]);
    Json out = json;
    if (out.is_structured())
      for (Json& item : out) item = with_tensors(item, node);
    return out;
  }

  Json op_entry(const GraphNode& node) const {
    const OpConfig op = op_to_config(node);
    Json config = {{"name", node.name}};
    for (const auto& [key, value] : op.config.items()) config[key] = value;
    const Json call = {{"args", with_tensors(op.args, node)}, {"kwargs", with_tensors(op.kwargs, node)}};
    return {{"module", op.module}, {"class_name", op.class_name},
            {"config", config},    {"registered_name", op.class_name},
            {"name", node.name},   {"inbound_nodes", Json::array({call})}};
  }

  /// A layer with all its calls.
  Json entry(const GraphNode& operation) const {
    const Layer layer = FunctionalNode::layer_of(operation);
    if (!layer) return op_entry(operation);
    Json json = layer_to_json(layer);
    json["name"] = layer.name();
    Json calls = Json::array();
    for (const auto& node : model_.topology().nodes)
      if (node->layer && node->layer == layer) calls.push_back(layer_arguments(*node));
    json["inbound_nodes"] = std::move(calls);
    return json;
  }

  const FunctionalNode& model_;
  std::map<const GraphNode*, int> place_;
};

}  // namespace

Json functional_config(const Model& model) {
  return GraphWriter(dynamic_cast<const FunctionalNode&>(model.model_node())).config();
}

}  // namespace nyala
