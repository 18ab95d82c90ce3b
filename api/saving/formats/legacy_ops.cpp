#include <nyala/api/saving/formats/legacy_ops.h>

#include <string_view>

#include <nyala/api/saving/ops/op_table.h>
#include <nyala/backend/core/error.h>
#include <nyala/files/json/json_text.h>

namespace nyala {

namespace {

bool is_triple(const Json& json) {
  return json.is_array() && json.size() >= 3 && json[0].is_string() && json[0] != "_CONSTANT_VALUE" &&
         json[1].is_number_integer() && json[2].is_number_integer();
}

/// A tensor of the graph, a constant, or a list of these.
Json argument(const Json& json) {
  if (is_triple(json))
    return {{"class_name", "__keras_tensor__"}, {"config", {{"keras_history", {json[0], json[1], json[2]}}}}};
  if (json.is_array() && json.size() >= 3 && json[0] == "_CONSTANT_VALUE") return json[2];
  if (!json.is_array()) return json;
  Json list = Json::array();
  for (const Json& item : json) list.push_back(argument(item));
  return list;
}

class Call {
 public:
  Call(const Json& node, std::string where) : where_(std::move(where)) {
    const bool one = node.is_array() && !node.empty() && node[0].is_string();
    const Json& first = one || !node.is_array() || node.empty() ? node : node[0];
    if (!first.is_array() || first.size() < 3) throw FileFormatError(where_ + ": is called with nothing");
    if (first.size() > 3 && first[3].is_object()) keywords_ = first[3];
    inputs_ = one ? argument(first) : argument(node);
  }

  Json entry(const OpEntry& entry, const std::string& name) {
    const LegacyFunction& function = entry.legacy;
    OpConfig op{entry.class_name, entry.module, {{"name", name}}, Json::array({inputs_})};
    for (const char* const tensor : function.tensors)
      if (tensor) op.args.push_back(argument(take(tensor)));
    for (const auto& [old_name, setting] : function.settings)
      if (const Json value = old_name ? take(old_name) : Json(); !value.is_null()) op.config[setting] = value;
    for (const auto& [key, value] : keywords_.items())
      if (key != "name" && !value.is_null() && value != false)
        throw FileFormatError(where_ + ": its argument " + detail::in_quotes(key) + " is not built yet");
    if (function.upgrade) function.upgrade(op);
    return {{"module", op.module},
            {"class_name", op.class_name},
            {"config", op.config},
            {"name", name},
            {"inbound_nodes", Json::array({{{"args", op.args}, {"kwargs", op.kwargs}}})}};
  }

 private:
  Json take(const std::string& key) {
    if (!keywords_.contains(key)) return {};
    Json value = keywords_[key];
    keywords_.erase(key);
    return value;
  }

  std::string where_;
  Json inputs_;
  Json keywords_ = Json::object();
};

}  // namespace

bool is_op_lambda(const Json& layer) {
  return layer.is_object() && layer.contains("class_name") && layer.contains("inbound_nodes") &&
         (layer["class_name"] == "TFOpLambda" || layer["class_name"] == "SlicingOpLambda");
}

Json op_of_lambda(const Json& layer, const std::string& where) {
  const Json config = layer.contains("config") ? layer["config"] : Json::object();
  if (!config.is_object() || !config.contains("function") || !config["function"].is_string() ||
      !config.contains("name") || !config["name"].is_string())
    throw FileFormatError(where + ": an op between layers without a name and a function");
  const std::string name = config["name"].as_string(), path = config["function"].as_string();
  const std::string place = where + ": layer " + detail::in_quotes(name) + " (tf." + path + ")";
  const OpEntry* const entry = find_legacy_op(std::string_view(path).substr(path.rfind('.') + 1));
  const Json& nodes = layer["inbound_nodes"];
  if (!entry) throw FileFormatError(place + " is not built yet");
  if (!nodes.is_array() || nodes.size() != 1)
    throw FileFormatError(place + ": expected one call, found " + quoted_json(nodes));
  return Call(nodes[0], place).entry(*entry, name);
}

}  // namespace nyala
