// Calls are traced in the order of the file where that can be. One that needs a tensor which is not there yet
// is put down behind every call that it waits for, and tried again when the last of these is done: linear in
// the size of the graph, where going over the list until nothing changes would be quadratic. What is left at
// the end waits for nothing or for itself.
#include <algorithm>
#include <deque>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include <nyala/api/layers/attention/attention_inputs.h>
#include <nyala/api/layers/base/call_arguments.h>
#include <nyala/api/layers/core/input.h>
#include <nyala/api/layers/rnn/recurrent_layer.h>
#include <nyala/api/model/functional.h>
#include <nyala/api/saving/config/config_reader.h>
#include <nyala/api/saving/config/file_operation.h>
#include <nyala/api/saving/config/layer_config.h>
#include <nyala/api/saving/config/nested_inputs.h>
#include <nyala/api/saving/ops/op_constants.h>
#include <nyala/api/saving/ops/op_table.h>
#include <nyala/backend/core/error.h>
#include <nyala/files/base/file_errors.h>
#include <nyala/files/json/json_integer.h>
#include <nyala/files/json/json_text.h>

namespace nyala {

using namespace nyala::detail;

namespace {

/// Arguments of calls that are true or false.
constexpr const char* kSwitches[] = {"return_attention_scores", "use_causal_mask"};
constexpr const char* kTraining = "training";

/// Where a tensor of the graph comes from.
struct History {
  std::string layer;
  int64_t node = 0, tensor = 0;
};

History history_of(const Json& json, const std::string& where) {
  if (!json.is_array() || json.size() < 3 || !json[0].is_string() || !integer_in(json[1]) ||
      !integer_in(json[2]))
    throw FileFormatError(where + ": expected [layer, node, tensor], found " + quoted_json(json));
  return {json[0].get<std::string>(), json[1].get<int64_t>(), json[2].get<int64_t>()};
}

bool same_call(const GraphNode& a, const GraphNode& b);

/// Whether two tensors are computed alike: a mask that layers make stands in a file once more, as operations.
bool same_value(const Tensor& a, const Tensor& b) {
  const SymbolicMetadata* const left = symbolic(a);
  const SymbolicMetadata* const right = symbolic(b);
  return left && right && left->index == right->index &&
         (left->producer == right->producer || same_call(*left->producer, *right->producer));
}

bool same_call(const GraphNode& a, const GraphNode& b) {
  if (a.is_input() || b.is_input() || !(a.layer == b.layer) || a.inputs.size() != b.inputs.size())
    return false;
  for (size_t i = 0; i < a.inputs.size(); ++i)
    if (!same_value(a.inputs[i], b.inputs[i])) return false;
  if (a.layer) return true;
  const OpConfig left = op_to_config(a), right = op_to_config(b);
  return left.class_name == right.class_name && left.config == right.config && left.args == right.args &&
         left.kwargs == right.kwargs;
}

/// Traces the graph of a file: calls are made as soon as what they need is there.
class GraphReader {
 public:
  GraphReader(const Json& config, std::string where, LoadScope& scope)
      : config_(config), where_(std::move(where)), scope_(scope) {}

  Layer read() {
    const Json& entries = member_of(config_, "layers", where_);
    if (!entries.is_array()) throw FileFormatError(where_ + ", 'layers': expected a list");
    for (const Json& json : entries) add_entry(json);
    trace_calls();
    for (const Entry& entry : entries_)
      if (entry.next < entry.calls.size())
        throw FileFormatError(where_ + ": layer " + in_quotes(entry.name) +
                              " is called with what no layer gives, or the graph runs in a circle");
    ModelConfig model;
    bool trainable = true;
    if (given("name")) ConfigReader(config_, where_, scope_).field("name", model.name);
    if (given("trainable")) ConfigReader(config_, where_, scope_).field("trainable", trainable);
    FunctionalNode::Nesting nesting;
    model.inputs = ends("input_layers", nesting.inputs);
    model.outputs = ends("output_layers", nesting.outputs);
    const Json& outputs = config_.at("output_layers");
    if (std::ranges::all_of(outputs.items(), [](const JsonMember& each) { return is_triple(each.value); }))
      for (const std::string& name : sorted_keys(outputs)) nesting.output_names.push_back(name);
    Model made(model);
    dynamic_cast<FunctionalNode&>(made.model_node()).set_nesting(std::move(nesting));
    if (!trainable) freeze_model_alone(made);
    if (const auto policy = common_policy(made.layers())) made.model_node().take_dtype_policy(*policy);
    return made;
  }

 private:
  /// Files do not say the policy of such a model, which is the one that was set when it and its layers were
  /// made: what its layers have, if they agree.
  static std::optional<DTypePolicy> common_policy(const std::vector<Layer>& layers) {
    std::optional<DTypePolicy> common;
    for (const Layer& layer : layers) {
      if (is_input_layer(layer.node())) continue;
      if (common && *common != layer.dtype_policy()) return {};
      common = layer.dtype_policy();
    }
    return common;
  }

  struct Entry {
    std::string name;
    Layer layer;           // empty for an op
    std::string op_class;  // of an op
    std::string op_module = {};
    Json op_config = Json::object();
    Json calls = Json::array();
    size_t next = 0;
    std::vector<Tensors> outputs = {};  // of each call
    size_t missing = 0;                 // calls that the next one waits for
  };
  /// A call: the entry's place and the call's number.
  using Place = std::pair<size_t, int64_t>;

  /// The model's configuration has an option of this name that is not null.
  bool given(const char* name) const {
    const Json* const value = config_.find(name);
    return value && !value->is_null();
  }

  /// In the order of the file where that can be; what has to wait is looked at again when all that it waits
  /// for is traced.
  void trace_calls() {
    std::map<Place, std::vector<size_t>> waiting;
    std::deque<size_t> ready(entries_.size());
    std::iota(ready.begin(), ready.end(), size_t{0});
    for (; !ready.empty(); ready.pop_front()) {
      const size_t index = ready.front();
      Entry& entry = entries_[index];
      for (; entry.next < entry.calls.size() && try_call(entry); ++entry.next)
        for (const size_t other : waiting[{index, static_cast<int64_t>(entry.next)}])
          if (--entries_[other].missing == 0) ready.push_back(other);
      entry.missing = missing_.size();
      for (const Place& place : missing_) waiting[place].push_back(index);
    }
  }

  void add_entry(const Json& json) {
    const std::string name = entry_name(json);
    const std::string where =
        where_ + (name.empty() ? ", layer " + std::to_string(entries_.size()) : ": layer " + in_quotes(name));
    const ConfigObject object = object_of(json, where);
    const bool is_op = json.is_object() && is_operation(json, object);
    Entry entry{.name = name};
    if (is_op) {
      if (!json.contains("config"))
        throw FileFormatError(where + " (" + object.class_name + "): there is no 'config'");
      entry.op_class = object.class_name;
      if (json.contains("module") && json["module"].is_string()) entry.op_module = json["module"].as_string();
      entry.op_config = object.config;
    } else {
      entry.layer = layer_from_json(json, where_, scope_);
    }
    if (entry.name.empty() && entry.layer) entry.name = entry.layer.name();
    if (json.contains("inbound_nodes")) entry.calls = json["inbound_nodes"];
    const bool is_input = entry.layer && is_input_layer(entry.layer.node());
    if (!entry.calls.is_array() || (is_input && !entry.calls.empty()))
      throw FileFormatError(where + ", 'inbound_nodes': expected " +
                            (is_input ? "none, since it is an input" : "a list of calls") + ", found " +
                            quoted_json(entry.calls));
    if (is_input) entry.outputs = {{input_tensor(entry.layer.node())}};
    if (!by_name_.emplace(entry.name, entries_.size()).second)
      throw FileFormatError(where_ + ": two layers are called " + in_quotes(entry.name));
    entries_.push_back(std::move(entry));
  }

  /// "Add" is a layer as well as an operation. Where no module says which, as in `.h5`, layers alone have
  /// "trainable".
  static bool is_operation(const Json& json, const ConfigObject& object) {
    if (json.contains("module") && json["module"].is_string())
      return json["module"].as_string().find(".ops") != std::string::npos &&
             object.registered_name.find('>') == std::string::npos;
    return find_op(object.class_name) && !object.config.contains("trainable");
  }

  /// The tensor, or nothing while it is not traced yet.
  std::optional<Tensor> find(const History& from) const {
    const auto found = by_name_.find(from.layer);
    if (found == by_name_.end())
      throw FileFormatError(where_ + ": the graph names a layer " + in_quotes(from.layer) +
                            " that is not there");
    const Entry& entry = entries_[found->second];
    if (from.node < 0 || from.node >= static_cast<int64_t>(entry.outputs.size())) {
      missing_.emplace(found->second, from.node);
      return {};
    }
    const Tensors& outputs = entry.outputs[static_cast<size_t>(from.node)];
    if (from.tensor < 0 || from.tensor >= static_cast<int64_t>(outputs.size()))
      throw FileFormatError(where_ + ": layer " + in_quotes(from.layer) + " has no output " +
                            std::to_string(from.tensor));
    return outputs[static_cast<size_t>(from.tensor)];
  }

  /// All tensors in `json`, of the graph and constants, in order; false while one of them is not traced yet.
  bool collect(const Json& json, Tensors& out) const {
    if (is_keras_tensor(json)) {
      const Json& config = member_of(json, "config", where_);
      const auto tensor = find(history_of(member_of(config, "keras_history", where_), where_));
      if (tensor) out.push_back(*tensor);
      return tensor.has_value();
    }
    if (is_constant(json)) out.push_back(constant_from_json(json, called_));
    bool all = true;
    if (json.is_array())
      for (const Json& item : json) all = collect(item, out) && all;
    return all;
  }

  /// Makes the next call of the entry; false if it has to wait.
  bool try_call(Entry& entry) {
    const Json& call = entry.calls[entry.next];
    const std::string where = where_ + ": layer " + in_quotes(entry.name);
    const Json& args = member_of(call, "args", where);
    Json keywords = call.contains("kwargs") ? call["kwargs"] : Json::object();
    if (!args.is_array() || !keywords.is_object())
      throw FileFormatError(where + ", 'inbound_nodes': expected a list of arguments, found " +
                            std::string(args.type_name()) + " and " + keywords.type_name());
    missing_.clear();
    called_ = where;
    if (!entry.layer) return call_op(entry, args, keywords);
    if (!takes_initial_states(entry.layer) || args.size() < 3) return call_layer(entry, args, keywords);
    // call(sequences, initial_state, mask, training)
    const char* const names[] = {"mask", kTraining};
    for (size_t i = 2; i < std::min<size_t>(args.size(), 4); ++i) keywords[names[i - 2]] = args[i];
    return call_layer(entry, Json::array({args[0], args[1]}), keywords);
  }

  /// Inputs by position are tensors and lists of them; those behind the first may be absent.
  void check_inputs(const Entry& entry, const Json& args) const {
    for (size_t i = 0; i < args.size(); ++i)
      if (i == 0 || !args[i].is_null()) check_tensors(entry, args[i]);
  }

  void check_tensors(const Entry& entry, const Json& json) const {
    if (is_keras_tensor(json) || is_constant(json)) return;
    if (!json.is_array())
      throw FileFormatError(where_ + ": layer " + in_quotes(entry.name) + " is called with " +
                            quoted_json(json) + ": expected tensors");
    for (const Json& item : json) check_tensors(entry, item);
  }

  bool call_layer(Entry& entry, const Json& args, const Json& keywords) {
    if (is_nested_call(entry.layer, args, keywords)) {
      Json list = args, named = keywords;
      if (!list.empty()) list[0] = list_of_inputs(entry.layer, args[0], called_);
      if (const Json* const inputs = keywords.find("inputs"))
        named["inputs"] = list_of_inputs(entry.layer, *inputs, called_);
      if (const Json* const masks = keywords.find("mask"))
        named["mask"] = list_of_masks(entry.layer, *masks, called_);
      return call_with_list(entry, list, named);
    }
    return call_with_list(entry, args, keywords);
  }

  bool call_with_list(Entry& entry, const Json& args, const Json& keywords) {
    check_inputs(entry, args);
    Tensors inputs;
    if (entry.layer.node().takes_named_tensors()) {
      if (!collect_named(entry, args, keywords, inputs)) return false;
    } else {
      if (!collect(args, inputs)) return false;
      for (const char* key : {"inputs", "sequences", "initial_state", "count_weights"})
        if (keywords.contains(key) && !collect(keywords[key], inputs)) return false;
      if (inputs.empty())
        throw FileFormatError(where_ + ": layer " + in_quotes(entry.name) + " is called with nothing");
      if (!collect_masks(keywords, inputs)) return false;
      refuse_others(entry, keywords, {"inputs", "sequences", "initial_state", "count_weights", "mask"});
      if (auto arguments = flags_of(entry, keywords))
        inputs[0] = with_call_arguments(inputs[0], std::move(arguments));
    }
    try {
      entry.outputs.push_back(entry.layer.call_all(inputs));
    } catch (const Error& error) {
      let_out_of_memory_pass(error);
      throw FileFormatError(where_ + ": " + error.what());
    }
    return true;
  }

  /// The switch of a call, or nothing where it is absent or null.
  std::optional<bool> switch_of(const Entry& entry, const Json& keywords, const std::string& name) const {
    const Json* const value = keywords.find(name);
    if (!value || value->is_null()) return {};
    if (!value->is_boolean())
      throw FileFormatError(where_ + ": layer " + in_quotes(entry.name) + " is called with " +
                            in_quotes(name) + ": expected true, false or null, found " + quoted_json(*value));
    return value->get<bool>();
  }

  /// Switches of a call that are not at their default, or null. What a call says of training counts for
  /// nothing: as in Keras 3, fit and predict say more.
  std::shared_ptr<CallArguments> flags_of(const Entry& entry, const Json& keywords) const {
    auto arguments = std::make_shared<CallArguments>();
    for (const char* name : kSwitches)
      if (switch_of(entry, keywords, name).value_or(false)) arguments->flags[name] = true;
    switch_of(entry, keywords, kTraining);
    return arguments->flags.empty() ? nullptr : arguments;
  }

  void refuse_others(const Entry& entry, const Json& keywords, std::set<std::string> known) const {
    known.insert(std::begin(kSwitches), std::end(kSwitches));
    known.insert(kTraining);
    for (const auto& [key, value] : keywords.items())
      if (!known.contains(key) && !value.is_null())
        throw FileFormatError(where_ + ": layer " + in_quotes(entry.name) + " is called with " +
                              in_quotes(key) + ", which is not built yet");
  }

  /// Gives each input the mask that a call names for it, also where its producer gives it another; false
  /// while one is not traced yet.
  bool collect_masks(const Json& keywords, Tensors& inputs) const {
    if (!keywords.contains("mask") || keywords["mask"].is_null()) return true;
    const Json& given = keywords["mask"];
    const bool is_one = is_keras_tensor(given) || is_constant(given);
    const Json list = is_one ? Json::array({given}) : given;
    const auto is_mask = [](const Json& json) {
      return json.is_null() || is_keras_tensor(json) || is_constant(json);
    };
    if (!list.is_array() || !std::ranges::all_of(list, is_mask))
      throw FileFormatError(called_ + " is called with 'mask': expected tensors or null, found " +
                            quoted_json(given));
    const bool of_states = is_one && inputs.size() > 1;
    for (size_t i = 0; i < list.size() && i < inputs.size(); ++i)
      if (!give_mask(list[i], inputs[i], of_states)) return false;
    return true;
  }

  bool give_mask(const Json& json, Tensor& input, bool always) const {
    Tensors mask;
    if (!collect(json, mask)) return false;
    if (mask.size() == 1 && (always || !same_value(mask_of(input), mask[0])))
      input = given_mask(input, mask[0]);
    return true;
  }

  /// The tensors of an attention layer's call, by position or name; false while one is not traced yet.
  bool collect_named(const Entry& entry, const Json& args, const Json& keywords, Tensors& inputs) const {
    static const std::vector<std::string>& names = *new std::vector<std::string>{
        "query", "value", "key", "query_mask", "value_mask", "key_mask", "attention_mask"};
    std::map<std::string, Tensor> found;
    for (size_t i = 0; i < names.size(); ++i) {
      const Json* json = keywords.contains(names[i]) ? &keywords[names[i]]
                         : i < args.size()           ? &args[i]
                                                     : nullptr;
      Tensors tensor;
      if (json && !collect(*json, tensor)) return false;
      if (!tensor.empty()) found[names[i]] = tensor[0];
    }
    if (!found.contains("query") || !found.contains("value"))
      throw FileFormatError(where_ + ": layer " + in_quotes(entry.name) +
                            " is called without a query and a value");
    // Keras 3.15 ignores it.
    if (entry.layer.node().strips_masks()) found.erase("query_mask");
    for (const char* name : {"query", "value", "key"}) {
      const auto tensor = found.find(name), mask = found.find(std::string(name) + "_mask");
      if (tensor != found.end() && mask != found.end() && !same_value(mask_of(tensor->second), mask->second))
        tensor->second = given_mask(tensor->second, mask->second);
    }
    refuse_others(entry, keywords, {names.begin(), names.end()});
    const auto flags = flags_of(entry, keywords);
    inputs = attention_tensors(found["query"], found["value"],
                               {.key = found["key"], .attention_mask = found["attention_mask"]});
    if (!flags) return true;
    flags->tensors = call_arguments_of(inputs[0])->tensors;
    inputs[0] = with_call_arguments(inputs[0], flags);
    return true;
  }

  /// Takes the tensors out of an operation's arguments; false while one is not traced yet.
  bool take_tensors(Json& json, Tensors& inputs) const {
    if (is_keras_tensor(json)) {
      if (!collect(json, inputs)) return false;
      json = Json::object({{"input", inputs.size() - 1}});
      return true;
    }
    bool all = true;
    if (json.is_array())
      for (Json& item : json) all = take_tensors(item, inputs) && all;
    return all;
  }

  bool call_op(Entry& entry, const Json& args, const Json& keywords) {
    OpConfig op{entry.op_class, entry.op_module, entry.op_config, args, keywords};
    op.config.erase("name");
    const std::string where = where_ + ": operation " + in_quotes(entry.name) + " (" + entry.op_class + ")";
    Tensors inputs;
    if (!take_tensors(op.args, inputs)) return false;
    for (Json& value : op.kwargs)
      if (!take_tensors(value, inputs)) return false;
    if (inputs.empty()) throw FileFormatError(where + ": is called without a tensor of the graph");
    try {
      const auto operation = make_operation(std::move(op), where, inputs);
      entry.outputs.push_back(trace_operation(operation, entry.next == 0 ? entry.name : "", inputs));
    } catch (const FileFormatError&) {
      throw;
    } catch (const Error& error) {
      let_out_of_memory_pass(error);
      throw FileFormatError(where + ": " + error.what());
    }
    return true;
  }

  /// The order in which Keras takes tensors out of a dictionary.
  static std::set<std::string> sorted_keys(const Json& json) {
    std::set<std::string> keys;
    for (const auto& [key, value] : json.items()) keys.insert(key);
    return keys;
  }

  static bool is_triple(const Json& json) { return json.is_array() && !json.empty() && json[0].is_string(); }

  /// One triple, or lists and dictionaries of them, nested as Keras does; `nesting` is set where they are
  /// more than a list (FunctionalNode::Nesting).
  Tensors ends(const char* key, std::string& nesting) const {
    const Json& json = member_of(config_, key, where_);
    const std::string where = where_ + ", " + in_quotes(key);
    Tensors tensors;
    const Json places = take_ends(json, where, tensors);
    const bool is_flat =
        places.is_number() ||
        (places.is_array() && std::ranges::all_of(places, [](const Json& item) { return item.is_number(); }));
    if (!is_flat) nesting = json_text(places, where);
    return tensors;
  }

  /// Here Keras counts the graph of a functional model as its first call; -1 is the last one, as in Python.
  History end_of(const Json& json, const std::string& where) const {
    History from = history_of(json, where);
    const auto found = by_name_.find(from.layer);
    if (found == by_name_.end()) return from;
    const Entry& entry = entries_[found->second];
    if (!entry.layer || !dynamic_cast<const FunctionalNode*>(&entry.layer.node())) return from;
    from.node = from.node == 0 ? static_cast<int64_t>(entry.calls.size()) - 1 : from.node - 1;
    return from;
  }

  /// The same with the tensors' places in `tensors`, to which they are added.
  Json take_ends(const Json& json, const std::string& where, Tensors& tensors) const {
    if (is_triple(json) || !json.is_structured()) {
      const auto tensor = find(end_of(json, where));
      if (!tensor) throw FileFormatError(where + ": names what no layer gives");
      tensors.push_back(*tensor);
      return tensors.size() - 1;
    }
    Json places = json;
    if (json.is_array())
      for (Json& item : places) item = take_ends(item, where, tensors);
    else
      for (const std::string& key : sorted_keys(json)) places[key] = take_ends(json[key], where, tensors);
    return places;
  }

  const Json& config_;
  std::string where_;
  LoadScope& scope_;
  std::deque<Entry> entries_;
  std::map<std::string, size_t> by_name_;
  std::string called_;               // the layer or operation that is tried, for errors
  mutable std::set<Place> missing_;  // what the call that is tried found not to be traced yet
};

}  // namespace

Layer functional_from_config(const Json& config, const std::string& where, LoadScope& scope) {
  return GraphReader(config, where, scope).read();
}

}  // namespace nyala
