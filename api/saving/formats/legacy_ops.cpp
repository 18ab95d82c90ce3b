#include <nyala/api/saving/formats/legacy_ops.h>

#include <map>
#include <vector>

#include <nyala/backend/core/error.h>

namespace nyala {

namespace {

using Names = std::map<std::string, std::string>;

/// What a function of TensorFlow's is in Keras 3.
struct Function {
  std::string class_name;
  std::vector<std::string> tensors = {};  // its arguments behind the first
  Names settings = {};                    // its other arguments by their names there
};

/// Functions of two tensors, of one, and over axes.
const Names& kPairs = *new Names{{"add", "Add"},
                                 {"subtract", "Subtract"},
                                 {"sub", "Subtract"},
                                 {"multiply", "Multiply"},
                                 {"mul", "Multiply"},
                                 {"truediv", "TrueDivide"},
                                 {"divide", "TrueDivide"},
                                 {"floordiv", "FloorDivide"},
                                 {"mod", "Mod"},
                                 {"floormod", "Mod"},
                                 {"pow", "Power"},
                                 {"maximum", "Maximum"},
                                 {"minimum", "Minimum"},
                                 {"divide_no_nan", "DivideNoNan"},
                                 {"greater", "Greater"},
                                 {"greater_equal", "GreaterEqual"},
                                 {"less", "Less"},
                                 {"less_equal", "LessEqual"},
                                 {"equal", "Equal"},
                                 {"not_equal", "NotEqual"},
                                 {"eq", "Equal"},
                                 {"ne", "NotEqual"},
                                 {"logical_and", "LogicalAnd"},
                                 {"logical_or", "LogicalOr"}};
const Names& kSingle = *new Names{{"negative", "Negative"},
                                  {"neg", "Negative"},
                                  {"abs", "Absolute"},
                                  {"square", "Square"},
                                  {"sqrt", "Sqrt"},
                                  {"rsqrt", "Rsqrt"},
                                  {"exp", "Exp"},
                                  {"log", "Log"},
                                  {"log1p", "Log1p"},
                                  {"expm1", "Expm1"},
                                  {"tanh", "Tanh"},
                                  {"sigmoid", "Sigmoid"},
                                  {"relu", "Relu"},
                                  {"relu6", "Relu6"},
                                  {"silu", "Silu"},
                                  {"swish", "Silu"},
                                  {"elu", "Elu"},
                                  {"selu", "Selu"},
                                  {"softplus", "Softplus"},
                                  {"softsign", "Softsign"},
                                  {"sin", "Sin"},
                                  {"cos", "Cos"},
                                  {"tan", "Tan"},
                                  {"floor", "Floor"},
                                  {"ceil", "Ceil"},
                                  {"round", "Round"},
                                  {"sign", "Sign"},
                                  {"erf", "Erf"},
                                  {"reciprocal", "Reciprocal"},
                                  {"logical_not", "LogicalNot"},
                                  {"zeros_like", "ZerosLike"},
                                  {"ones_like", "OnesLike"},
                                  {"identity", "Copy"},
                                  {"stop_gradient", "StopGradient"}};
const Names& kReductions = *new Names{{"reduce_mean", "Mean"},    {"reduce_sum", "Sum"},
                                      {"reduce_max", "Max"},      {"reduce_min", "Min"},
                                      {"reduce_prod", "Prod"},    {"reduce_any", "Any"},
                                      {"reduce_all", "All"},      {"reduce_std", "Std"},
                                      {"reduce_variance", "Var"}, {"reduce_logsumexp", "Logsumexp"}};

const Names& kReduction = *new Names{{"axis", "axis"}, {"keepdims", "keepdims"}};

std::map<std::string, Function> make_functions() {
  std::map<std::string, Function> all;
  for (const auto& [name, class_name] : kPairs) all[name] = {class_name, {"y"}};
  for (const auto& [name, class_name] : kSingle) all[name] = {class_name};
  for (const auto& [name, class_name] : kReductions) all[name] = {class_name, {}, kReduction};
  all["where"] = all["where_v2"] = {"Where", {"x", "y"}};
  all["matmul"] = {"Matmul", {"b"}, {{"transpose_a", "transpose_a"}, {"transpose_b", "transpose_b"}}};
  all["softmax"] = {"Softmax", {}, {{"axis", "axis"}}};
  all["gelu"] = {"Gelu", {}, {{"approximate", "approximate"}}};
  all["leaky_relu"] = {"LeakyRelu", {}, {{"alpha", "negative_slope"}}};
  all["clip_by_value"] = {"Clip", {}, {{"clip_value_min", "x_min"}, {"clip_value_max", "x_max"}}};
  all["cast"] = {"Cast", {}, {{"dtype", "dtype"}}};
  all["reshape"] = {"Reshape", {}, {{"shape", "newshape"}}};
  all["transpose"] = {"Transpose", {}, {{"perm", "axes"}}};
  all["expand_dims"] = {"ExpandDims", {}, {{"axis", "axis"}}};
  all["squeeze"] = {"Squeeze", {}, {{"axis", "axis"}}};
  all["tile"] = {"Tile", {}, {{"multiples", "repeats"}}};
  all["concat"] = {"Concatenate", {}, {{"axis", "axis"}}};
  all["stack"] = {"Stack", {}, {{"axis", "axis"}}};
  all["getitem"] = {"GetItem", {"slice_spec"}};
  return all;
}

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

/// {"start", "stop", "step"} of Keras 2.
Json key_part(const Json& part) {
  if (!part.is_object()) return part;
  if (part.contains("class_name")) return {{"class_name", "__ellipsis__"}, {"config", Json::object()}};
  return {{"class_name", "__slice__"}, {"config", part}};
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

  Json entry(const Function& function, const std::string& name) {
    Json config = {{"name", name}}, args = Json::array({inputs_});
    for (const std::string& tensor : function.tensors) args.push_back(argument(take(tensor)));
    for (const auto& [from, to] : function.settings)
      if (const Json value = take(from); !value.is_null()) config[to] = value;
    for (const auto& [key, value] : keywords_.items())
      if (key != "name" && !value.is_null() && value != false)
        throw FileFormatError(where_ + ": its argument " + detail::in_quotes(key) + " is not built yet");
    std::string class_name = function.class_name;
    if (class_name == "Matmul") class_name = matmul(config);
    if (class_name == "Gelu" && !config.contains("approximate")) config["approximate"] = false;
    if (class_name == "GetItem" && args[1].is_array())
      for (Json& part : args[1]) part = key_part(part);
    return {{"module", "keras.src.ops"},
            {"class_name", class_name},
            {"config", config},
            {"name", name},
            {"inbound_nodes", Json::array({{{"args", args}, {"kwargs", Json::object()}}})}};
  }

 private:
  Json take(const std::string& key) {
    if (!keywords_.contains(key)) return {};
    Json value = keywords_[key];
    keywords_.erase(key);
    return value;
  }

  /// A product of transposed factors is an einsum.
  static std::string matmul(Json& config) {
    const auto flag = [&](const char* key) {
      const bool set = config.contains(key) && config[key] == true;
      config.erase(key);
      return set;
    };
    const bool a = flag("transpose_a"), b = flag("transpose_b");
    if (!a && !b) return "Matmul";
    config["subscripts"] = std::string(a ? "...ki," : "...ik,") + (b ? "...jk" : "...kj") + "->...ij";
    return "Einsum";
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
  static const std::map<std::string, Function>& functions =
      *new std::map<std::string, Function>(make_functions());
  const Json config = layer.contains("config") ? layer["config"] : Json::object();
  if (!config.is_object() || !config.contains("function") || !config["function"].is_string() ||
      !config.contains("name") || !config["name"].is_string())
    throw FileFormatError(where + ": an op between layers without a name and a function");
  const std::string name = config["name"], path = config["function"];
  const std::string place = where + ": layer " + detail::in_quotes(name) + " (tf." + path + ")";
  const auto found = functions.find(path.substr(path.rfind('.') + 1));
  const Json& nodes = layer["inbound_nodes"];
  if (found == functions.end()) throw FileFormatError(place + " is not built yet");
  if (!nodes.is_array() || nodes.size() != 1)
    throw FileFormatError(place + ": expected one call, found " + nodes.dump().substr(0, 60));
  return Call(nodes[0], place).entry(found->second, name);
}

}  // namespace nyala
