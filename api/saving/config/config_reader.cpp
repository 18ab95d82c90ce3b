#include <nyala/api/saving/config/config_reader.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include <nyala/api/activations/activation_argument.h>
#include <nyala/api/base/registry.h>
#include <nyala/api/constraints/all.h>
#include <nyala/api/initializers/all.h>
#include <nyala/api/regularizers/all.h>
#include <nyala/api/saving/config/config_writer.h>
#include <nyala/api/saving/config/layer_activation.h>
#include <nyala/api/saving/config/layer_config.h>
#include <nyala/api/saving/ops/op_constants.h>
#include <nyala/api/schedules/all.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/core/log.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/files/json/json_integer.h>
#include <nyala/files/json/json_text.h>

namespace nyala {

using namespace nyala::detail;

namespace {

[[noreturn]] void fail(const std::string& where, const std::string& expected, const Json& found) {
  constexpr size_t kShown = 60;
  const bool is_text = found.is_string();
  const std::string text = is_text ? found.get<std::string>() : readable_json(found);
  const std::string quote = is_text ? "'" : "", end = text.size() > kShown ? "..." : "";
  throw FileFormatError(where + ": expected " + expected + ", found " + std::string(found.type_name()) + " " +
                        quote + printable(text.substr(0, kShown)) + end + quote);
}

int64_t integer_of(const Json& json, const std::string& where) {
  if (const auto integer = integer_in(json)) return *integer;
  if (json.is_number_integer()) fail(where, "an integer of 64 bits", json);
  if (json.is_number_float() && json.get<double>() == std::floor(json.get<double>()) &&
      std::abs(json.get<double>()) < 9e15)
    return static_cast<int64_t>(json.get<double>());
  fail(where, "an integer", json);
}

double number_of(const Json& json, const std::string& where) {
  if (json.is_number()) return json.get<double>();
  fail(where, "a number", json);
}

/// Numbers in nested lists, in row-major order.
void append_numbers(const Json& json, std::vector<double>& to, const std::string& where) {
  if (json.is_array())
    for (const Json& item : json) append_numbers(item, to, where);
  else
    to.push_back(number_of(json, where));
}

/// Pairs of sizes, which Keras nests: ((1, 2), (3, 4)), as a flat list.
bool holds_pairs(const std::string& key, const Json& json) {
  return (key == "padding" || key == "cropping") && json.is_array() && !json.empty() &&
         std::ranges::all_of(json, [](const Json& item) { return item.is_array() && item.size() == 2; });
}
Json without_pairs(const Json& pairs) {
  Json flat = Json::array();
  for (const Json& pair : pairs)
    for (const Json& size : pair) flat.push_back(size);
  return flat;
}

/// Lists in which null stands for a size that is not known.
bool holds_unknown_sizes(const std::string& key) {
  return key.ends_with("noise_shape") || key == "output_shape" || key == "target_shape";
}

}  // namespace

const Json& member_of(const Json& json, const std::string& key, const std::string& where) {
  if (!json.is_object()) fail(where, "an object with " + in_quotes(key), json);
  const Json* const found = json.find(key);
  if (!found) throw FileFormatError(where + ": there is no " + in_quotes(key));
  return *found;
}

ConfigObject object_of(const Json& json, const std::string& where) {
  constexpr size_t kMaxNameLength = 1000;  // it comes back in messages
  if (!json.is_string() && !json.is_object()) fail(where, "a name or an object with 'class_name'", json);
  const Json& name = json.is_string() ? json : member_of(json, "class_name", where);
  const auto is_name = [](const std::string& text) {
    return text.size() <= kMaxNameLength && printable(text) == text;
  };
  if (!name.is_string() || !is_name(name.as_string())) fail(where + ", 'class_name'", "a name", name);
  if (json.is_string()) return {json.get<std::string>()};
  ConfigObject object{name.get<std::string>()};
  if (json.contains("config") && !json["config"].is_null()) object.config = json["config"];  // as Keras
  const bool is_function = object.class_name == "function" && object.config.is_string();
  if (!object.config.is_object() && !is_function)
    fail(where + " (" + object.class_name + "), 'config'", "an object of options", object.config);
  if (json.contains("registered_name") && json["registered_name"].is_string()) {
    object.registered_name = json["registered_name"].get<std::string>();
    if (!is_name(object.registered_name))
      fail(where + ", 'registered_name'", "a name", json["registered_name"]);
  }
  if (json.contains("module") && json["module"].is_string())
    object.module = json["module"].get<std::string>();
  if (json.contains(kBesideConfig) && object.config.is_object())
    object.config[kBesideConfig] = json[kBesideConfig];
  return object;
}

std::string entry_name(const Json& json) {
  if (!json.is_object()) return {};
  const Json* const config = json.find("config");
  for (const Json* name : {json.find("name"), config ? config->find("name") : nullptr})
    if (name && name->is_string()) return name->as_string();
  return {};
}

CustomObject find_custom(const ConfigObject& object, const LoadScope& scope) {
  for (const std::string& name : {object.registered_name, object.class_name})
    if (const auto found = scope.custom_objects.find(name); found != scope.custom_objects.end())
      return found->second;
  const bool has_package = object.registered_name.find('>') != std::string::npos;
  if (!has_package && (object.module == "keras" || object.module.starts_with("keras."))) return {};
  return registered_object(object.registered_name.empty() ? object.class_name : object.registered_name);
}

CustomObject find_custom_function(const std::string& name, const LoadScope& scope) {
  for (const std::string& known : {name, without_package(name)})
    if (const auto found = scope.custom_objects.find(known); found != scope.custom_objects.end())
      return found->second;
  return name.find('>') == std::string::npos ? CustomObject() : registered_object(name);
}

void warn_of_unknown_options(const LoadScope& scope, const std::string& name) {
  if (scope.unknown_options.empty()) return;
  constexpr size_t kShown = 20;
  std::string text;
  for (size_t i = 0; i < scope.unknown_options.size() && i < kShown; ++i) {
    const std::string& option = scope.unknown_options[i];
    const bool begins = option.starts_with(name + ": ") || option.starts_with(name + ", ");
    text += (i > 0 ? "; " : "") + (begins ? option.substr(name.size() + 2) : option);
  }
  if (scope.unknown_options.size() > kShown)
    text += "; and " + std::to_string(scope.unknown_options.size() - kShown) + " more";
  log(LogChannel::warning, name + ": options that are not known here were ignored: " + text);
}

Shape shape_of(const Json& json, const std::string& where) {
  if (!json.is_array()) fail(where, "a shape", json);
  if (json.size() > Shape::kMaxRank)
    throw FileFormatError(where + ": a shape of " + std::to_string(json.size()) + " axes");
  Shape shape;
  for (const Json& size : json) {
    const int64_t value = size.is_null() ? int64_t{None} : integer_of(size, where);
    if (value < 0 && value != None) fail(where, "a size", size);
    shape.append(value);
  }
  return shape;
}

namespace {

/// Keras' names of the class that a policy is, of Keras 2 those of 2.3 and before, too.
bool is_policy_class(const std::string& name) {
  return name == "DTypePolicy" || name == "FloatDTypePolicy" || name == "Policy" || name == "PolicyV1";
}

const char* kind_of_policy(const std::string& class_name) {
  if (class_name == "DTypePolicyMap") return "maps of policies";
  return class_name.starts_with("Quantized") ? "quantized layers" : "policies of one's own";
}

}  // namespace

std::string policy_of(const Json& config, const std::string& where) {
  if (!config.is_object() || !config.contains("dtype") || config["dtype"].is_null()) return "";
  const Json& dtype = config["dtype"];
  if (dtype.is_string()) return dtype.get<std::string>();
  if (const Json* const name = dtype.is_object() ? dtype.find("class_name") : nullptr;
      name && name->is_string() && !is_policy_class(name->as_string()))
    throw FileFormatError(where + ", 'dtype': " + kind_of_policy(name->as_string()) +
                          " are not built yet, found a " + printable(name->as_string()));
  const Json& policy = member_of(dtype, "config", where + ", 'dtype'");
  const Json& name = policy.is_object() && policy.contains("name") ? policy["name"] : policy;
  if (name.is_string()) return name.get<std::string>();
  fail(where + ", 'dtype'", "the name of a dtype", dtype);
}

ConfigReader::ConfigReader(const Json& config, const std::string& where, LoadScope& scope)
    : config_(config), where_(where), scope_(scope) {}

ConfigReader::~ConfigReader() = default;

const Json* ConfigReader::find_any(const char* name) {
  if (!config_.is_object() && !config_.is_null()) fail(where_, "an object of options", config_);
  const Json* const found = config_.find(name);
  if (!found) return nullptr;
  used_.insert(name);
  return found;
}

const Json* ConfigReader::find(const char* name) {
  const Json* const found = find_any(name);
  return found && !found->is_null() ? found : nullptr;
}

void ConfigReader::field(const char* name, bool& value) {
  const Json* found = find_any(name);
  if (!found) return;
  const bool is_digit = found->is_number_integer() && (*found == 0 || *found == 1);
  if (!found->is_boolean() && !is_digit) fail(place(name), "true or false", *found);
  value = found->is_boolean() ? found->get<bool>() : *found == 1;
}

void ConfigReader::field(const char* name, int64_t& value) {
  const Json* found = find_any(name);
  if (!found) return;
  const bool one_in_a_list =  // the axis of Keras 2's BatchNormalization
      std::string_view(name) == "axis" && found->is_array() && found->size() == 1;
  value = integer_of(one_in_a_list ? found->at(0) : *found, place(name));
}

void ConfigReader::field(const char* name, double& value) {
  if (const Json* found = find_any(name)) value = number_of(*found, place(name));
}

void ConfigReader::field(const char* name, std::string& value) {
  const Json* found = find_any(name);
  if (!found || (found->is_null() && value.empty())) return;
  if (!found->is_string()) fail(place(name), "text", *found);
  value = found->get<std::string>();
}

template <class T, class Convert>
void ConfigReader::read_list(const char* name, std::vector<T>& value, const Convert& convert) {
  const Json* found = find_any(name);
  if (!found || (found->is_null() && value.empty())) return;
  value.clear();
  const Json& list = *found;
  for (const Json& item : list.is_array() ? list : Json::array({list})) value.push_back(convert(item));
}

void ConfigReader::field(const char* name, std::vector<int64_t>& value) {
  if (const Json* found = find(name); found && holds_pairs(name, *found)) {
    const Json flat = {{name, without_pairs(*found)}};
    return ConfigReader(flat, where_, scope_).field(name, value);
  }
  read_list(name, value, [&](const Json& item) {
    return item.is_null() && holds_unknown_sizes(name) ? int64_t{None} : integer_of(item, place(name));
  });
}

void ConfigReader::field(const char* name, std::vector<double>& value) {
  if (const Json* found = find(name); found && is_constant(*found)) {
    const Tensor numbers = constant_from_json(*found, place(name));
    if (numbers.rank() > 1) fail(place(name), "a list of numbers", *found);
    value = ops::cast(numbers, DType::float64).to_vector<double>();
    return;
  }
  read_list(name, value, [&](const Json& item) { return number_of(item, place(name)); });
}

void ConfigReader::nested(const char* name, std::vector<double>& values, std::vector<int64_t>& shape) {
  const Json* found = find(name);
  if (!found) return;
  values.clear();
  append_numbers(*found, values, place(name));
  shape.clear();
  for (const Json* list = found; list && list->is_array() && !list->empty(); list = &list->front())
    shape.push_back(static_cast<int64_t>(list->size()));
  int64_t count = 1;
  for (const int64_t size : shape) count *= size;
  if (!shape.empty() && count != static_cast<int64_t>(values.size()))
    fail(place(name), "nested lists of equal lengths", *found);
}

void ConfigReader::field(const char* name, std::vector<std::string>& value) {
  read_list(name, value, [&](const Json& item) {
    if (!item.is_string()) fail(place(name), "texts", item);
    return item.get<std::string>();
  });
}

void ConfigReader::field(const char* name, ActivationArgument& value) {
  const Json* found = find(name);
  if (!found) return;
  const ConfigObject object = object_of(*found, place(name));
  const std::string function = object.function_name();
  if (object.class_name == "__lambda__" || (object.class_name == "function" && function.empty()))
    throw FileFormatError(place(name) + ": a function of Python's, which is not run");
  const std::string& wanted = function.empty() ? object.class_name : function;
  const CustomObject own =
      function.empty() && !found->is_string() ? CustomObject() : find_custom_function(wanted, scope_);
  if (const auto* const known = own.as<KnownActivation>()) {
    value = ActivationArgument(known->function, wanted);
    return;
  }
  if (function.empty() && found->is_object()) {
    value = ActivationArgument(LayerActivation{layer_from_json(*found, place(name), scope_)}, wanted);
    return;
  }
  try {
    value = ActivationArgument(wanted);
  } catch (const InvalidArgumentError& error) {
    throw FileFormatError(place(name) + ": " + error.what());
  }
}

void ConfigReader::field(const char* name, Initializer& value) {
  static const ObjectTable<Initializer>& table = *new ObjectTable<Initializer>("initializer", Initializers{});
  const Json* found = find(name);
  if (!found) return;
  const ConfigObject object = object_of(*found, place(name));
  // Names that only users write ("uniform") go the way of users' names.
  value = found->is_string() ? Initializer(object.class_name) : table.make(object, place(name), scope_);
}

void ConfigReader::field(const char* name, Regularizer& value) {
  static const ObjectTable<Regularizer>& table = *new ObjectTable<Regularizer>("regularizer", Regularizers{});
  const Json* found = find(name);
  if (!found) return;
  const ConfigObject object = object_of(*found, place(name));
  value = found->is_string() ? Regularizer(object.class_name) : table.make(object, place(name), scope_);
}

void ConfigReader::field(const char* name, Constraint& value) {
  static const ObjectTable<Constraint>& table = *new ObjectTable<Constraint>("constraint", Constraints{});
  const Json* found = find(name);
  if (!found) return;
  const ConfigObject object = object_of(*found, place(name));
  value = found->is_string() ? Constraint(object.class_name) : table.make(object, place(name), scope_);
}

void ConfigReader::field(const char* name, LearningRate& value) {
  static const ObjectTable<LearningRate>& table =
      *new ObjectTable<LearningRate>("learning rate schedule", Schedules{});
  const Json* found = find_any(name);
  if (!found) return;
  if (!found->is_number() && !found->is_object())
    fail(place(name), "a number or a learning rate schedule", *found);
  value = found->is_number() ? LearningRate(found->get<double>())
                             : table.make(object_of(*found, place(name)), place(name), scope_);
}

void ConfigReader::field(const char* name, Layer& value) {
  if (const Json* found = find(name)) value = layer_from_json(*found, place(name), scope_);
}

void ConfigReader::field(const char* name, std::vector<Layer>& value) {
  const Json* found = find(name);
  if (!found) return;
  if (!found->is_array()) fail(place(name), "a list of layers", *found);
  value.clear();
  for (const Json& layer : *found) value.push_back(layer_from_json(layer, place(name), scope_));
}

bool ConfigReader::is_null(const char* name) {
  const Json* found = find_any(name);
  return found && found->is_null();
}

void ConfigReader::optional(const char* name, double& value) {
  const Json* found = find_any(name);
  if (!found) return;
  if (found->is_number_float() && std::isnan(found->get<double>()))  // which means none here
    fail(place(name), "a number or null", *found);
  value = found->is_null() ? kNoValue : number_of(*found, place(name));
}

/// Keras' generator, which goes on from its seed with each draw, stands for that seed.
const Json* ConfigReader::find_seed(const char* name) {
  const Json* found = find_any(name);
  if (!found || std::string_view(name) != "seed" || !found->is_object()) return found;
  const ConfigObject generator = object_of(*found, place(name));
  if (generator.class_name != "SeedGenerator")
    fail(place(name), "an integer, null or a SeedGenerator", *found);
  return &member_of(found->at("config"), "seed", place(name));
}

void ConfigReader::optional(const char* name, int64_t& value, int64_t none) {
  const Json* found = find_seed(name);
  if (!found) return;
  if (found->is_null())
    value = none;
  else if (std::string_view(name) == "seed")
    value = integer_of(*found, place(name));
  else
    field(name, value);
}

void ConfigReader::optional(const char* name, std::string& value) {
  if (is_null(name))
    value.clear();
  else
    field(name, value);
}

void ConfigReader::beside(const char* name, bool& value) {
  const Json* own = find(kBesideConfig);
  if (!own) return;
  if (!own->is_object()) fail(place(kBesideConfig), "an object", *own);
  ConfigReader(*own, where_, scope_).field(name, value);
}

void ConfigReader::note_unused(std::initializer_list<std::string_view> known) const {
  for (const auto& [key, value] : config_.items())
    if (!used_.contains(key) && std::find(known.begin(), known.end(), key) == known.end() &&
        !value.is_null() && value != Json(false))
      scope_.unknown_options.push_back(where_ + ", " + in_quotes(key));
}

}  // namespace nyala
