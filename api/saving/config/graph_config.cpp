#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>

#include <nyala/api/layers/input.h>
#include <nyala/api/layers/recurrent_layer.h>
#include <nyala/api/model/functional.h>
#include <nyala/api/saving/config/config_reader.h>
#include <nyala/api/saving/config/layer_config.h>
#include <nyala/api/saving/config/op_config.h>
#include <nyala/backend/core/error.h>

namespace nyala {

namespace {

/// Layers that Keras calls with one argument per tensor; all others of several take a list.
bool takes_arguments(const Layer& layer) {
  static const std::set<std::string> names = {"MultiHeadAttention", "GroupedQueryAttention"};
  return names.contains(layer.class_name());
}

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
    config["input_layers"] = ends(model_.inputs());
    config["output_layers"] = ends(model_.outputs());
    return config;
  }

 private:
  static std::string name_of_node(const GraphNode& node) {
    const Layer layer = FunctionalNode::layer_of(node);
    return layer ? layer.name() : node.name;
  }

  Json history(const Tensor& tensor) const {
    const SymbolicNotes& notes = *symbolic(tensor);
    return {name_of_node(*notes.producer), place_.at(notes.producer.get()), notes.index};
  }

  Json keras_tensor(const Tensor& tensor) const {
    return {{"class_name", "__keras_tensor__"},
            {"config",
             {{"shape", shape_to_json(tensor.shape())},
              {"dtype", std::string(nyala::name_of(tensor.dtype()))},
              {"keras_history", history(tensor)}}}};
  }

  Json ends(const Tensors& tensors) const {
    if (tensors.size() == 1) return history(tensors[0]);
    Json list = Json::array();
    for (const Tensor& tensor : tensors) list.push_back(history(tensor));
    return list;
  }

  Json layer_arguments(const GraphNode& node) const {
    Json args = Json::array(), keywords = Json::object(), all = Json::array();
    for (const Tensor& input : node.inputs) all.push_back(keras_tensor(input));
    if (!node.layer.node().takes_many() || takes_arguments(node.layer)) {
      args = all;
    } else if (takes_initial_states(node.layer)) {
      args.push_back(all[0]);
      all.erase(all.begin());
      if (!all.empty()) keywords["initial_state"] = all;
    } else {
      args.push_back(all);
    }
    const bool one_mask = node.masks.size() == 1 || (!node.masks.empty() && takes_initial_states(node.layer));
    if (one_mask && node.masks[0].defined() && symbolic(node.masks[0]))
      keywords["mask"] = keras_tensor(node.masks[0]);
    return {{"args", args}, {"kwargs", keywords}};
  }

  Json op_arguments(const GraphNode& node, const OpConfig& op) const {
    Json args = Json::array();
    size_t next = 0;
    for (const Json& argument : op.arguments) {
      while (argument.is_null() && !symbolic(node.inputs.at(next))) ++next;
      args.push_back(argument.is_null() ? keras_tensor(node.inputs.at(next++)) : argument);
    }
    return {{"args", args}, {"kwargs", Json::object()}};
  }

  Json op_entry(const GraphNode& node) const {
    const OpConfig op = op_to_config(node);
    return {{"module", op.module},
            {"class_name", op.class_name},
            {"config", {{"name", node.name}}},
            {"registered_name", op.class_name},
            {"name", node.name},
            {"inbound_nodes", Json::array({op_arguments(node, op)})}};
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

/// Where a tensor of the graph comes from.
struct History {
  std::string layer;
  int64_t node = 0, tensor = 0;
};

History history_of(const Json& json, const std::string& where) {
  if (!json.is_array() || json.size() < 3 || !json[0].is_string() || !json[1].is_number_integer() ||
      !json[2].is_number_integer())
    throw FileFormatError(where + ": expected [layer, node, tensor], found " + json.dump().substr(0, 60));
  return {json[0].get<std::string>(), json[1].get<int64_t>(), json[2].get<int64_t>()};
}

bool is_keras_tensor(const Json& json) {
  return json.is_object() && json.contains("class_name") && json["class_name"] == "__keras_tensor__";
}

/// Draws the graph of a file: calls are made as soon as what they need is there.
class GraphReader {
 public:
  GraphReader(const Json& config, std::string where, LoadScope& scope)
      : config_(config), where_(std::move(where)), scope_(scope) {}

  Layer read() {
    const Json& entries = member_of(config_, "layers", where_);
    if (!entries.is_array()) throw FileFormatError(where_ + ", 'layers': expected a list");
    for (const Json& json : entries) add_entry(json);
    bool progress = true;
    while (progress) {
      progress = false;
      for (Entry& entry : entries_)
        while (entry.next < entry.calls.size() && try_call(entry)) progress = true;
    }
    for (const Entry& entry : entries_)
      if (entry.next < entry.calls.size())
        throw FileFormatError(where_ + ": layer '" + entry.name +
                              "' is called with what no layer gives, or the graph runs in a circle");
    ModelConfig model;
    if (config_.contains("name") && config_["name"].is_string()) model.name = config_["name"];
    model.inputs = ends("input_layers");
    model.outputs = ends("output_layers");
    Model made(model);
    if (config_.contains("trainable") && config_["trainable"] == false) made.set_trainable(false);
    return made;
  }

 private:
  struct Entry {
    std::string name;
    Layer layer;           // empty for an op
    std::string op_class;  // of an op
    Json calls = Json::array();
    size_t next = 0;
    std::vector<Tensors> outputs = {};  // of each call
  };

  void add_entry(const Json& json) {
    const std::string where = where_ + ", layer " + std::to_string(entries_.size());
    const ConfigObject object = object_of(json, where);
    const bool is_op = json.is_object() && is_op_class(object.class_name) && is_operation(json, object);
    Entry entry;
    if (json.is_object() && json.contains("name") && json["name"].is_string())
      entry.name = json["name"];
    else if (object.config.is_object() && object.config.contains("name") && object.config["name"].is_string())
      entry.name = object.config["name"];
    if (is_op)
      entry.op_class = object.class_name;
    else
      entry.layer = layer_from_json(json, where_, scope_);
    if (entry.name.empty() && entry.layer) entry.name = entry.layer.name();
    if (json.contains("inbound_nodes") && json["inbound_nodes"].is_array()) entry.calls = json["inbound_nodes"];
    if (entry.layer && is_input_layer(entry.layer.node())) {
      entry.outputs = {{input_tensor(entry.layer.node())}};
      entry.calls = Json::array();
    }
    if (!by_name_.emplace(entry.name, entries_.size()).second)
      throw FileFormatError(where_ + ": two layers are called '" + entry.name + "'");
    entries_.push_back(std::move(entry));
  }

  /// "Add" is a layer as well as an operation.
  static bool is_operation(const Json& json, const ConfigObject& object) {
    if (json.contains("module") && json["module"].is_string())
      return json["module"].get<std::string>().find(".ops") != std::string::npos;
    return object.config.is_object() && object.config.size() <= 1;
  }

  /// The tensor, or nothing while it is not drawn yet.
  std::optional<Tensor> find(const History& from) const {
    const auto found = by_name_.find(from.layer);
    if (found == by_name_.end())
      throw FileFormatError(where_ + ": the graph names a layer '" + from.layer + "' that is not there");
    const Entry& entry = entries_[found->second];
    // Keras 2 counts a nested model's own graph as its first call.
    int64_t node = from.node;
    const int64_t calls = std::max<int64_t>(static_cast<int64_t>(entry.calls.size()), 1);
    if (node >= calls) node = calls - 1;
    if (node < 0 || node >= static_cast<int64_t>(entry.outputs.size())) return {};
    const Tensors& outputs = entry.outputs[static_cast<size_t>(node)];
    if (from.tensor < 0 || from.tensor >= static_cast<int64_t>(outputs.size()))
      throw FileFormatError(where_ + ": layer '" + from.layer + "' has no output " +
                            std::to_string(from.tensor));
    return outputs[static_cast<size_t>(from.tensor)];
  }

  /// All tensors in `json`, in order; false while one of them is not drawn yet.
  bool collect(const Json& json, Tensors& out) const {
    if (is_keras_tensor(json)) {
      const Json& config = member_of(json, "config", where_);
      const auto tensor = find(history_of(member_of(config, "keras_history", where_), where_));
      if (tensor) out.push_back(*tensor);
      return tensor.has_value();
    }
    if (json.is_array())
      for (const Json& item : json)
        if (!collect(item, out)) return false;
    return true;
  }

  /// Makes the next call of the entry; false if it has to wait.
  bool try_call(Entry& entry) {
    const Json& call = entry.calls[entry.next];
    const Json& args = member_of(call, "args", where_ + ": layer '" + entry.name + "'");
    const Json keywords = call.contains("kwargs") ? call["kwargs"] : Json::object();
    const bool done = entry.layer ? call_layer(entry, args, keywords) : call_op(entry, args, keywords);
    if (done) ++entry.next;
    return done;
  }

  bool call_layer(Entry& entry, const Json& args, const Json& keywords) {
    Tensors inputs;
    if (!collect(args, inputs)) return false;
    for (const char* key : {"query", "value", "key", "initial_state"})
      if (keywords.contains(key) && !collect(keywords[key], inputs)) return false;
    for (const auto& [key, value] : keywords.items()) {
      Tensors hidden;
      static const std::set<std::string> known = {"query", "value", "key", "initial_state", "mask"};
      if (!known.contains(key) && collect(value, hidden) && !hidden.empty())
        throw FileFormatError(where_ + ": layer '" + entry.name + "' takes a tensor as '" + key +
                              "', which is not built yet");
    }
    if (inputs.empty()) throw FileFormatError(where_ + ": layer '" + entry.name + "' is called with nothing");
    if (keywords.contains("mask") && (inputs.size() > 1 || !mask_of(inputs[0]).defined())) {
      Tensors masks;
      if (!collect(keywords["mask"], masks)) return false;
      if (masks.size() == 1) inputs[0] = given_mask(inputs[0], masks[0]);
    }
    try {
      entry.outputs.push_back(entry.layer.call_all(inputs));
    } catch (const Error& error) {
      throw FileFormatError(where_ + ": " + error.what());
    }
    return true;
  }

  bool call_op(Entry& entry, const Json& args, const Json& keywords) {
    std::vector<OpArgument> arguments;
    const std::string where = where_ + ": operation '" + entry.name + "' (" + entry.op_class + ")";
    Json values = args;
    for (const char* key : {"x1", "x2", "x"})
      if (keywords.contains(key)) values.push_back(keywords[key]);
    for (const Json& value : values) {
      Tensors tensor;
      if (is_keras_tensor(value) && !collect(value, tensor)) return false;
      arguments.push_back({tensor.empty() ? Tensor() : tensor[0], value});
    }
    try {
      const Tensor result = run_op(entry.op_class, arguments, keywords, where);
      set_op_name(result, entry.name);
      entry.outputs.push_back({result});
    } catch (const FileFormatError&) {
      throw;
    } catch (const Error& error) {
      throw FileFormatError(where + ": " + error.what());
    }
    return true;
  }

  /// One triple, a list of them, or one by name.
  Tensors ends(const char* key) const {
    const Json& json = member_of(config_, key, where_);
    const std::string where = where_ + ", '" + key + "'";
    Tensors tensors;
    const auto add = [&](const Json& triple) {
      const auto tensor = find(history_of(triple, where));
      if (!tensor) throw FileFormatError(where + ": names what no layer gives");
      tensors.push_back(*tensor);
    };
    const bool single = json.is_array() && !json.empty() && json[0].is_string();
    if (single) add(json);
    else if (json.is_array() || json.is_object())
      for (const Json& triple : json) add(triple);
    return tensors;
  }

  const Json& config_;
  std::string where_;
  LoadScope& scope_;
  std::deque<Entry> entries_;
  std::map<std::string, size_t> by_name_;
};

}  // namespace

Json functional_config(const Model& model) {
  return GraphWriter(dynamic_cast<const FunctionalNode&>(model.model_node())).config();
}

Layer functional_from_config(const Json& config, const std::string& where, LoadScope& scope) {
  return GraphReader(config, where, scope).read();
}

}  // namespace nyala
