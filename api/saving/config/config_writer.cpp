#include <nyala/api/saving/config/config_writer.h>

#include <cmath>
#include <map>
#include <set>

#include <nyala/api/activations/activation_argument.h>
#include <nyala/api/base/class_name.h>
#include <nyala/api/base/registry.h>
#include <nyala/api/constraints/all.h>
#include <nyala/api/initializers/all.h>
#include <nyala/api/layers/all.h>
#include <nyala/api/losses/all.h>
#include <nyala/api/metrics/all.h>
#include <nyala/api/optimizers/all.h>
#include <nyala/api/regularizers/all.h>
#include <nyala/api/saving/config/layer_activation.h>
#include <nyala/api/saving/config/layer_config.h>
#include <nyala/api/saving/config/save_notes.h>
#include <nyala/api/schedules/all.h>
#include <nyala/backend/core/error.h>

namespace nyala {

using namespace nyala::detail;

Json envelope(const std::string& module, const std::string& class_name, Json config) {
  return {{"module", module},
          {"class_name", class_name},
          {"config", std::move(config)},
          {"registered_name", nullptr}};
}

namespace {

template <class... Classes, class... More>
std::set<std::string> names_of(ClassList<Classes...>, const More&... more) {
  return {class_name_of<Classes>()..., more...};
}

/// Whether Keras' module has such a class and this library, too.
bool is_built_in(const std::string& module, const std::string& class_name) {
  static const std::map<std::string, std::set<std::string>>& classes =
      *new std::map<std::string, std::set<std::string>>{
          {"keras.layers", names_of(Layers{})},
          {"keras.losses", names_of(Losses{})},
          {"keras.metrics", names_of(Metrics{})},
          {"keras.optimizers", names_of(Optimizers{}, "LossScaleOptimizer")},
          {"keras.optimizers.schedules", names_of(Schedules{})},
          {"keras.initializers", names_of(Initializers{})},
          {"keras.regularizers", names_of(Regularizers{})},
          {"keras.constraints", names_of(Constraints{})}};
  return classes.at(module).contains(class_name);
}

}  // namespace

Json envelope_of(const std::type_info& type, const std::string& module, const std::string& class_name,
                 Json config) {
  const std::string registered = registered_name_of(type);
  if (registered.empty() && is_built_in(module, class_name))
    return envelope(module, class_name, std::move(config));
  if (registered.empty()) SaveNotes::unregistered(class_name);
  Json out =
      envelope(module, registered.empty() ? class_name : without_package(registered), std::move(config));
  out["module"] = nullptr;
  out["registered_name"] = registered.empty() ? class_name : registered;
  return out;
}

Json function_envelope(const std::string& name) {
  return {
      {"module", "builtins"}, {"class_name", "function"}, {"config", name}, {"registered_name", "function"}};
}

namespace {

/// Sizes on both sides of each axis, as Keras nests them: ((1, 2), (3, 4)).
bool comes_in_pairs(const std::string& name, size_t size) {
  return (name == "padding" || name == "cropping") && size >= 4 && size % 2 == 0;
}

template <class Handle>
Json object_of(const std::string& module, const Handle& handle) {
  if (!handle) return {};
  const auto& node = handle.node();
  return envelope_of(typeid(node), module, node.class_name(), config_of(node));
}

}  // namespace

void ConfigWriter::field(const char* name, std::string& value) {
  if (value.empty() && std::string(name) == "data_format")
    config[name] = "channels_last";
  else
    config[name] = value.empty() ? Json() : Json(value);
}

void ConfigWriter::field(const char* name, std::vector<int64_t>& value) {
  const std::string key = name;
  if (value.empty() && key != "target_shape" && key != "axis") {
    config[name] = nullptr;
    return;
  }
  Json list = Json::array();
  if (comes_in_pairs(key, value.size())) {
    for (size_t i = 0; i < value.size(); i += 2) list.push_back({value[i], value[i + 1]});
  } else {
    for (const int64_t size : value)
      list.push_back(size == None && (key.ends_with("noise_shape") || key == "output_shape") ? Json()
                                                                                             : Json(size));
  }
  config[name] = std::move(list);
}

void ConfigWriter::field(const char* name, std::vector<double>& value) {
  const std::string key = name;
  static const std::set<std::string>& kAlone =
      *new std::set<std::string>{"scale",           "offset",
                                 "height_factor",   "width_factor",
                                 "alpha",           "brightness_factor",
                                 "contrast_factor", "saturation_factor",
                                 "hue_factor",      "fill_value"};
  const bool alone = kAlone.contains(key);
  if (value.size() == 1 && alone)  // Rescaling's, RandomZoom's: Keras writes one number as it is
    config[name] = value[0];
  else
    config[name] = value.empty() ? Json() : Json(value);
}

void ConfigWriter::nested(const char* name, std::vector<double>& values, std::vector<int64_t>& shape) {
  if (shape.size() < 2) return field(name, values);
  std::vector<Json> lists(values.begin(), values.end());
  for (size_t axis = shape.size(); axis-- > 0;) {
    const auto size = static_cast<size_t>(shape[axis]);
    std::vector<Json> outer;
    for (size_t first = 0; size > 0 && first + size <= lists.size(); first += size)
      outer.push_back(Json(std::vector<Json>(lists.begin() + static_cast<std::ptrdiff_t>(first),
                                             lists.begin() + static_cast<std::ptrdiff_t>(first + size))));
    lists = std::move(outer);
  }
  config[name] = lists.empty() ? Json::array() : lists.front();
}

void ConfigWriter::field(const char* name, std::vector<std::string>& value) {
  config[name] = value.empty() ? Json() : Json(value);
}

void ConfigWriter::field(const char* name, ActivationArgument& value) {
  // A function that Keras has not, though old files mean it: whoever loads the file there names it.
  if (value.name() == "legacy_hard_sigmoid") {
    config[name] = function_envelope(value.name());
    return;
  }
  if (!value.is_custom()) {
    config[name] = value.name();
    return;
  }
  if (const auto* const own = value.function().target<LayerActivation>()) {
    config[name] = layer_to_json(own->layer);
    return;
  }
  const std::string registered = registered_name_of(value.function());
  if (registered.empty() && value.name() == "function")
    throw InvalidArgumentError(
        std::string("'") + name +
        "' is a C++ function without a name, which no file can hold; name an activation, "
        "or register_serializable(\"package\", \"name\", function)");
  config[name] = function_envelope(registered.empty() ? value.name() : registered);
}

void ConfigWriter::field(const char* name, Initializer& value) {
  config[name] = object_of("keras.initializers", value);
}

void ConfigWriter::field(const char* name, Regularizer& value) {
  config[name] = object_of("keras.regularizers", value);
}

void ConfigWriter::field(const char* name, Constraint& value) {
  config[name] = object_of("keras.constraints", value);
}

void ConfigWriter::field(const char* name, LearningRate& value) {
  if (!value.is_schedule()) {
    config[name] = static_cast<double>(static_cast<float>(value.rate()));
    return;
  }
  const LearningRateScheduleNode& schedule = value.schedule();
  config[name] =
      envelope_of(typeid(schedule), "keras.optimizers.schedules", schedule.class_name(), config_of(schedule));
}

void ConfigWriter::field(const char* name, Layer& value) {
  config[name] = value ? layer_to_json(value) : Json();
}

void ConfigWriter::field(const char* name, std::vector<Layer>& value) {
  Json list = Json::array();
  for (const Layer& layer : value) list.push_back(layer_to_json(layer));
  config[name] = std::move(list);
}

void ConfigWriter::optional(const char* name, double& value) {
  config[name] = std::isnan(value) ? Json() : Json(value);
}

void ConfigWriter::optional(const char* name, int64_t& value, int64_t none) {
  config[name] = value == none ? Json() : Json(value);
}

void ConfigWriter::when_set(const char* name, double& value) {
  if (!std::isnan(value)) config[name] = value;
}

void ConfigWriter::when_set(const char* name, int64_t& value, int64_t none) {
  if (value != none) config[name] = value;
}

void ConfigWriter::beside(const char* name, bool& value) {
  if (value) own[name] = value;
}

}  // namespace nyala
