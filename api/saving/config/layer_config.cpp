#include <nyala/api/saving/config/layer_config.h>

#include <map>
#include <optional>

#include <nyala/api/base/registry.h>
#include <nyala/api/layers/all.h>
#include <nyala/api/model/functional.h>
#include <nyala/api/model/sequential.h>
#include <nyala/api/saving/config/config_reader.h>
#include <nyala/api/saving/config/config_writer.h>
#include <nyala/api/saving/config/save_notes.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/runtime/context.h>
#include <nyala/files/base/file_errors.h>
#include <nyala/files/json/json_integer.h>
#include <nyala/files/json/json_text.h>

namespace nyala {

using namespace nyala::detail;

namespace {

constexpr int kMaxDepth = 50;

Json input_layer_json(const Shape& shape, const std::string& dtype, const std::string& name) {
  return envelope(
      "keras.layers", "InputLayer",
      {{"batch_shape", shape_to_json(shape)}, {"dtype", dtype}, {"sparse", false}, {"name", name}});
}

Json input_layer_json(const LayerNode& node) {
  const InputConfig& input = input_config(node);
  Shape shape{input.batch_size};
  for (const int64_t size : input.shape) shape.append(size);
  return input_layer_json(shape, input.dtype, node.name());
}

Json base_config(const LayerNode& node) {
  return {{"name", node.name()},
          {"trainable", node.trainable()},
          {"dtype", envelope("keras", "DTypePolicy", {{"name", node.dtype_policy().name()}})}};
}

/// As Keras, one that was built for data is written with the Input that it was given then.
Json sequential_config(const SequentialNode& node) {
  Json config = base_config(node);
  Json layers = Json::array();
  Shapes shapes = node.input_shapes();
  if (node.input()) {
    layers.push_back(layer_to_json(node.input()));
  } else if (!node.inputs().empty()) {
    const Tensor& input = node.inputs()[0];
    shapes = {input.shape().with(0, None)};
    layers.push_back(
        input_layer_json(shapes[0], std::string(name_of(input.dtype())), node.name() + "_input"));
  }
  for (const Layer& layer : node.layers()) layers.push_back(layer_to_json(layer));
  config["layers"] = std::move(layers);
  if (!shapes.empty()) config["build_input_shape"] = shape_to_json(shapes[0]);
  return config;
}

/// `beside`: what an envelope holds beside the configuration.
Json own_config(LayerNode& node, Json& beside) {
  if (node.has_hidden_arguments)
    throw StateError(
        "class " + node.class_name() +
        " was made with arguments that no file can hold, for it does not override fields(): give "
        "it a `Config` with `void fields(FieldVisitor& v)`, make it from that one, and override "
        "`void fields(FieldVisitor& v) override { config_.fields(v); }`; or save_weights");
  ConfigWriter fields;
  node.fields(fields);
  Json config = base_config(node);
  for (const auto& [key, value] : fields.config.items()) config[key] = value;
  // Keras' constructors of these take no such argument, and write a name for their dtype.
  if (node.class_name().starts_with("SpatialDropout") || node.class_name() == "Discretization") {
    config.erase("trainable");
    config["dtype"] = node.dtype_policy().name();
  }
  if (node.class_name() == "Pipeline") {
    config.erase("trainable");
    config.erase("dtype");
  }
  beside = std::move(fields.own);
  return config;
}

/// The module of layers that Keras keeps to itself, though files hold them; empty for all others.
std::string private_module(const std::string& class_name) {
  if (class_name == "LayerScale" || class_name == "StochasticDepth") return "keras.src.applications.convnext";
  if (class_name == "CustomScaleLayer") return "keras.src.applications.inception_resnet_v2";
  return {};
}

/// Keras exports one class under another name than its own.
std::string public_name(const std::string& class_name) {
  return class_name == "GroupedQueryAttention" ? "GroupQueryAttention" : class_name;
}

/// What a model by subclassing was built for: the shape of its argument, or those of the list that it takes.
Json build_config(const Shapes& shapes) {
  if (shapes.size() == 1) return {{"input_shape", shape_to_json(shapes[0])}};
  Json list = Json::array();
  for (const Shape& shape : shapes) list.push_back(shape_to_json(shape));
  return {{"input_shape", std::move(list)}};
}

/// The same of a file, in which Keras also has a shape for each argument by its name; none where it says
/// nothing.
Shapes built_for(const Json& json, const std::string& where) {
  if (!json.contains("build_config") || !json["build_config"].is_object()) return {};
  const Json& config = json["build_config"];
  const Json& given = config.contains("input_shape")   ? config["input_shape"]
                      : config.contains("shapes_dict") ? config["shapes_dict"]
                                                       : config;
  const bool is_one = given.is_array() && !given.empty() && !given[0].is_array();
  Shapes shapes;
  for (const Json& shape : is_one ? Json::array({given}) : given)
    if (shape.is_array()) shapes.push_back(shape_of(shape, where + ", 'build_config'"));
  for (Shape& shape : shapes)
    if (shape.rank() > 0) shape = shape.with(0, None);
  return shapes;
}

Json json_of(const Layer& layer) {
  LayerNode& node = layer.node();
  if (is_input_layer(node)) return input_layer_json(node);
  if (const auto* sequential = dynamic_cast<const SequentialNode*>(&node))
    return envelope("keras", "Sequential", sequential_config(*sequential));
  if (dynamic_cast<const FunctionalNode*>(&node)) {
    Json json = envelope("keras.src.models.functional", "Functional",
                         functional_config(Model(std::static_pointer_cast<ModelNode>(layer.shared()))));
    json["registered_name"] = "Functional";
    return json;
  }
  Json beside;
  if (node.class_name() == "Lambda" && registered_name_of(typeid(node)).empty())
    return envelope("keras.layers", "Lambda", own_config(node, beside));
  if (const std::string module = private_module(node.class_name());
      !module.empty() && registered_name_of(typeid(node)).empty()) {
    Json json = envelope(module, node.class_name(), own_config(node, beside));
    json["registered_name"] = node.class_name();
    return json;
  }
  Json json =
      envelope_of(typeid(node), "keras.layers", public_name(node.class_name()), own_config(node, beside));
  if (!beside.empty()) json[kBesideConfig] = std::move(beside);
  if (dynamic_cast<const ModelNode*>(&node) && !node.built_for().empty())
    json["build_config"] = build_config(node.built_for());
  return json;
}

/// The policy of a config, and "" where it names none. Keras 2 had "_infer" for a layer that takes the dtype
/// of its first input.
std::string known_policy(const Json& config, const std::string& where) {
  const std::string name = policy_of(config, where);
  if (name.empty() || name == "_infer") return "";
  try {
    return DTypePolicy(name).name();
  } catch (const InvalidArgumentError& error) {
    throw FileFormatError(where + ", 'dtype': " + error.what());
  }
}

/// Of the file, or what replaces it.
std::string chosen_policy(const Json& config, const std::string& where, const LoadScope& scope) {
  if (!scope.dtype_policy) return known_policy(config, where);
  const std::string known = known_policy(config, where);
  const bool keeps = (scope.keeps_float32 && known == "float32") || known.starts_with("int");
  return keeps ? known : scope.dtype_policy->name();
}

LayerOptions options_of(const Json& config, const std::string& where, LoadScope& scope) {
  LayerOptions options{"", true, chosen_policy(config, where, scope)};
  ConfigReader reader(config, where, scope);
  reader.field("name", options.name);
  reader.field("trainable", options.trainable);
  return options;
}

/// A switch that only a file's reader looks at: absent and null are false.
bool is_on(const char* name, const Json& config, const std::string& where, LoadScope& scope) {
  bool on = false;
  if (const Json* const value = config.find(name); value && !value->is_null())
    ConfigReader(config, where, scope).field(name, on);
  return on;
}

/// Options of Keras that make another layer of it, which is not here.
void refuse_what_is_not_built(const Json& config, const std::string& where, LoadScope& scope) {
  if (is_on("renorm", config, where, scope))
    throw FileFormatError(where + ", 'renorm': batch renormalization is not built yet, expected false");
  if (const Json* const value = config.find("quantization_config"); value && !value->is_null())
    throw FileFormatError(where + ", 'quantization_config': quantized layers are not built yet, expected " +
                          "null, found " + quoted_json(*value));
}

template <class C>
Layer built_in(const Json& config, const std::string& where, LoadScope& scope) {
  typename C::Config values;
  const LayerOptions options = options_of(config, where, scope);
  values.name = options.name;
  if constexpr (requires { values.trainable = true; }) values.trainable = options.trainable;
  values.dtype = options.dtype;
  refuse_what_is_not_built(config, where, scope);
  ConfigReader reader(config, where, scope);
  values.fields(reader);
  // The numbers of a renormalization that is off.
  reader.note_unused(
      {"name", "trainable", "dtype", "batch_shape", "seed", "renorm_momentum", "renorm_clipping"});
  return C(values);
}

/// Every layer of the list by Keras' class name.
class LayerTable {
 public:
  using Maker = Layer (*)(const Json&, const std::string&, LoadScope&);

  template <class... Classes>
  explicit LayerTable(ClassList<Classes...>) {
    ((makers_[class_name_of<Classes>()] = built_in<Classes>), ...);
  }
  Maker find(const std::string& class_name) const {
    const auto found = makers_.find(class_name);
    return found == makers_.end() ? nullptr : found->second;
  }

 private:
  std::map<std::string, Maker> makers_;
};

Layer input_from(const Json& config, const std::string& where, LoadScope& scope) {
  const char* key = config.contains("batch_shape")         ? "batch_shape"
                    : config.contains("batch_input_shape") ? "batch_input_shape"
                                                           : "shape";
  Shape shape = shape_of(member_of(config, key, where), where + ", " + in_quotes(key));
  InputConfig input;
  if (std::string(key) != "shape" && shape.rank() > 0) {
    input.batch_size = shape[0];
    shape = shape.slice(1, shape.rank());
  }
  for (const char* unsupported : {"sparse", "ragged"})
    if (is_on(unsupported, config, where, scope))
      throw FileFormatError(where + ": " + unsupported + " inputs are not built yet");
  is_on("optional", config, where, scope);
  input.shape = shape;
  const std::string dtype = policy_of(config, where);
  if (!dtype.empty()) input.dtype = dtype.starts_with("mixed_") ? "float32" : dtype;
  ConfigReader(config, where, scope).field("name", input.name);
  return Input(input);
}

void collect_flags(const Layer& layer, std::vector<std::pair<Layer, bool>>& flags) {
  for (const auto& [attribute, inside] : layer.node().sublayers()) {
    flags.emplace_back(inside, inside.trainable());
    collect_flags(inside, flags);
  }
}

Layer sequential_from(const Json& config, const std::string& where, LoadScope& scope) {
  const Json& entries = member_of(config, "layers", where);
  if (!entries.is_array()) throw FileFormatError(where + ", 'layers': expected a list");
  const LayerOptions options = options_of(config, where, scope);
  const Sequential model(std::vector<Layer>{}, {.name = options.name});
  if (!options.dtype.empty()) model.model_node().take_dtype_policy(options.dtype);
  for (const Json& entry : entries) model.add(layer_from_json(entry, where, scope));
  if (!model.built() && config.contains("build_input_shape") && config["build_input_shape"].is_array())
    model.build(shape_of(config["build_input_shape"], where + ", 'build_input_shape'").with(0, None));
  if (!options.trainable) freeze_model_alone(model);
  return model;
}

Layer custom_from(const LayerMaker& maker, const Json& json, const std::string& where, LoadScope& scope) {
  const Json config = json.contains("config") ? json["config"] : Json::object();
  ConfigReader reader(config, where, scope);
  const Layer layer = maker(reader, options_of(config, where, scope));
  reader.note_unused({"name", "trainable", "dtype"});
  if (auto* model = dynamic_cast<ModelNode*>(&layer.node()); model && !model->built() && model->has_call())
    if (const Shapes shapes = built_for(json, where); !shapes.empty()) model->ensure_built(shapes);
  return layer;
}

/// Of a function by its name; code of Python's is not run.
Layer lambda_from(const Json& config, const std::string& where, LoadScope& scope) {
  const Json& function = config.contains("function") ? config["function"] : Json();
  if (!function.is_object() || !function.contains("class_name") || function["class_name"] != "function")
    throw FileFormatError(where +
                          " (Lambda): it holds code of Python's, which is never run; write it as a "
                          "layer and pass it by custom_objects under 'Lambda'");
  if (config.contains("arguments") && !config["arguments"].empty())
    throw FileFormatError(where + " (Lambda): arguments of the function are not built yet");
  ActivationArgument named;
  ConfigReader(config, where, scope).field("function", named);
  const LayerOptions options = options_of(config, where, scope);
  return Lambda(std::move(named), {options.name, options.trainable, options.dtype});
}

Layer make_layer_of(const ConfigObject& object, const Json& json, const std::string& where,
                    LoadScope& scope) {
  static const LayerTable& table = *new LayerTable(Layers{});
  const std::string& name = object.class_name;
  if (const CustomObject own = find_custom(object, scope); const auto* const maker = own.as<LayerMaker>())
    return custom_from(*maker, json, where, scope);
  if (name == "InputLayer") return input_from(object.config, where, scope);
  if (name == "Sequential") return sequential_from(object.config, where, scope);
  if (name == "Functional" || name == "Model") return functional_from_config(object.config, where, scope);
  if (name == "Lambda") return lambda_from(object.config, where, scope);
  if (const LayerTable::Maker maker = table.find(name)) return maker(object.config, where, scope);
  const std::string registered = object.registered_name.empty() ? name : object.registered_name;
  throw FileFormatError(where + " (" + registered +
                        ") is no layer that Nyala has or that was registered; a class of your own: " +
                        "register_serializable<" + name + ">(\"package\") before loading, or pass {\"" +
                        name + "\", custom_object<" + name + ">()} in .custom_objects");
}

}  // namespace

void freeze_model_alone(const Layer& model) {
  std::vector<std::pair<Layer, bool>> flags;
  collect_flags(model, flags);
  model.set_trainable(false);
  for (const auto& [layer, trainable] : flags) layer.set_trainable(trainable);  // outer ones first
}

namespace {

constexpr const char* kSharedId = "shared_object_id";

template <class F>
void each_numbered(Json& json, const F& f) {
  if (const Json* const id = json.is_object() ? json.find(kSharedId) : nullptr; id && id->is_number_integer())
    f(json, id->get<int64_t>());
  if (json.is_structured())
    for (Json& item : json) each_numbered(item, f);
}

/// As in Keras, only layers that stand in several places keep their number.
void keep_numbers_of_shared(Json& json) {
  std::map<int64_t, int> places;
  each_numbered(json, [&](Json&, int64_t number) { ++places[number]; });
  each_numbered(json, [&](Json& layer, int64_t number) {
    if (places[number] == 1) layer.erase(kSharedId);
  });
}

}  // namespace

Json layer_to_json(const Layer& layer) {
  std::optional<SaveNotes> own_notes;  // of a configuration that is written for no file
  if (!thread_context().save_notes) own_notes.emplace();
  int& depth = thread_context().layers_written;
  const ScopedValue<int> deeper(depth, depth + 1);
  if (depth > kMaxDepth)
    throw InvalidArgumentError("layers in layers deeper than " + std::to_string(kMaxDepth) +
                               " cannot be saved: no reader takes them");
  try {
    Json json = json_of(layer);
    json[kSharedId] = thread_context().save_notes->number_of(&layer.node());
    if (depth == 1) keep_numbers_of_shared(json);
    return json;
  } catch (const Error&) {
    rethrow_with_prefix("layer " + in_quotes(layer.name()) + ": ");
  }
}

Layer layer_from_json(const Json& json, const std::string& where, LoadScope& scope) {
  const std::string name = entry_name(json);
  const std::string place = where + (name.empty() ? "" : ": layer " + in_quotes(name));
  const ConfigObject object = object_of(json, place);
  if (!json.contains("config"))
    throw FileFormatError(place + " (" + object.class_name + "): there is no 'config'");
  if (scope.depth >= kMaxDepth)
    throw FileFormatError(place + ": layers in layers deeper than " + std::to_string(kMaxDepth));
  const bool may_be_shared =
      json.is_object() && json.contains("shared_object_id") && integer_in(json["shared_object_id"]);
  const int64_t id = may_be_shared ? *integer_in(json["shared_object_id"]) : 0;
  if (may_be_shared && scope.shared.contains(id)) return scope.shared.at(id);
  ++scope.depth;
  try {
    const Layer layer = make_layer_of(object, json, place, scope);
    --scope.depth;
    if (may_be_shared) scope.shared[id] = layer;
    return layer;
  } catch (const JsonError& error) {
    throw FileFormatError(place + " (" + object.class_name + "): " + error.what());
  } catch (const FileFormatError&) {
    throw;
  } catch (const Error& error) {
    let_out_of_memory_pass(error);
    throw FileFormatError(place + " (" + object.class_name + "): " + error.what());
  }
}

}  // namespace nyala
