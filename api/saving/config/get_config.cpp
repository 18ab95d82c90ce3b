#include <nyala/api/saving/config/config_writer.h>
#include <nyala/api/saving/config/layer_config.h>
#include <nyala/backend/core/error.h>
#include <nyala/files/json/json_text.h>

namespace nyala {

std::string Layer::get_config() const {
  node();
  return json_text(layer_to_json(*this)["config"], "get_config");
}

Layer Layer::from_config(const std::string& class_name, const std::string& config) {
  LoadScope scope;
  Json json = envelope("keras.layers", class_name, parse_json(config, "from_config"));
  json["registered_name"] = class_name;
  return layer_from_json(json, "from_config", scope);
}

Model Model::from_config(const std::string& config) {
  const Json json = parse_json(config, "from_config");
  if (!json.is_object() || !json.contains("layers"))
    throw FileFormatError(
        "from_config: expected the configuration of a functional or sequential model, an object with "
        "'layers'; a registered class: Layer::from_config(class_name, config)");
  return Model(Layer::from_config(json.contains("input_layers") ? "Functional" : "Sequential", config));
}

}  // namespace nyala
