#include <nyala/api/saving/config/config_writer.h>

#include <cmath>

#include <nyala/api/activations/activation_argument.h>
#include <nyala/api/constraints/constraint.h>
#include <nyala/api/initializers/initializer.h>
#include <nyala/api/layers/layer.h>
#include <nyala/api/regularizers/regularizer.h>
#include <nyala/api/saving/config/layer_config.h>
#include <nyala/api/saving/config/registry.h>
#include <nyala/api/schedules/learning_rate.h>
#include <nyala/backend/core/error.h>

namespace nyala {

Json envelope(const std::string& module, const std::string& class_name, Json config) {
  const std::string registered = registered_name_of(class_name);
  Json out = Json::object();
  out["module"] = registered.empty() ? Json(module) : Json();
  out["class_name"] = class_name;
  out["config"] = std::move(config);
  out["registered_name"] = registered.empty() ? Json() : Json(registered);
  return out;
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
  return envelope(module, node.class_name(), config_of(node));
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
  const bool alone = key == "scale" || key == "offset" || key == "height_factor" || key == "width_factor";
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
  if (value.is_custom())
    throw InvalidArgumentError(
        std::string("'") + name +
        "' is a C++ function, which no file can hold; name an activation, or make it a "
        "layer and register_serializable it");
  config[name] = value.name();
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
  config[name] = envelope("keras.optimizers.schedules", schedule.class_name(), config_of(schedule));
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

}  // namespace nyala
