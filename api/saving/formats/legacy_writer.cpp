#include <nyala/api/saving/formats/legacy_writer.h>

#include <algorithm>
#include <set>

#include <nyala/api/layers/base/layer_files.h>
#include <nyala/api/saving/config/config_writer.h>
#include <nyala/api/saving/config/model_json.h>
#include <nyala/api/saving/formats/keras_archive.h>
#include <nyala/api/saving/weights/weights_file.h>
#include <nyala/api/saving/weights/weights_walk.h>
#include <nyala/api/saving/weights/write_once.h>
#include <nyala/files/hdf5/writer.h>
#include <nyala/files/json/json_text.h>

namespace nyala {

namespace {

using hdf5::StringStorage;
using hdf5::Writer;

constexpr const char *kWeights = "model_weights", *kOptimizer = "optimizer_weights", *kBackend = "tensorflow";

Json legacy_model(const Json& model);

/// A layer of a list without module and registered name, as Keras writes it here; a class with a package
/// keeps it.
Json legacy_layer(const Json& layer) {
  const std::string module = layer["module"].is_string() ? layer["module"].get<std::string>() : "";
  if (module.find(".ops.") != std::string::npos) return layer;
  Json out = legacy_model(layer);
  for (const char* key : {"name", "inbound_nodes", "shared_object_id"})
    if (layer.contains(key)) out[key] = layer[key];
  return out;
}

Json legacy_model(const Json& model) {
  const Json& registered = model["registered_name"];
  const bool has_package =
      registered.is_string() && registered.get<std::string>().find('>') != std::string::npos;
  Json out = {{"class_name", has_package ? registered : model["class_name"]}, {"config", model["config"]}};
  if (model.contains(kBesideConfig)) out[kBesideConfig] = model[kBesideConfig];
  const bool has_layers = model["class_name"] == "Sequential" || model["class_name"] == "Functional";
  if (!has_layers && model.contains("build_config")) out["build_config"] = model["build_config"];
  if (has_layers)
    for (Json& layer : out["config"]["layers"]) layer = legacy_layer(layer);
  return out;
}

/// `compile_config` with the optimizer under its older name.
Json legacy_training(Json compile) {
  const Json optimizer = compile["optimizer"];
  compile.erase("optimizer");
  const Json& registered = optimizer["registered_name"];
  compile["optimizer_config"] = {
      {"class_name", registered.is_string() ? registered : optimizer["class_name"]},
      {"config", optimizer["config"]}};
  return compile;
}

/// A list of any length: in several attributes (`key0`, `key1`, ...) where one would be too long.
void set_names(Writer& writer, const std::string& path, const std::string& key,
               const std::vector<std::string>& names) {
  constexpr size_t kCell = 16, kMost = Writer::kMaxAttributeBytes / kCell;
  if (names.size() <= kMost) return writer.set_attribute(path, key, names, StringStorage::variable);
  for (size_t begin = 0, part = 0; begin < names.size(); begin += kMost, ++part) {
    const auto first = names.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto last = names.begin() + static_cast<std::ptrdiff_t>(std::min(begin + kMost, names.size()));
    writer.set_attribute(path, key + std::to_string(part), {first, last}, StringStorage::variable);
  }
}

void write_values(Writer& writer, const std::string& group, const Variables& variables) {
  writer.create_group(group);
  std::vector<std::string> names;
  for (const Variable& variable : variables) names.push_back(variable.path());
  set_names(writer, group, "weight_names", names);
  for (const Variable& variable : variables)
    writer.write_dataset(group + "/" + variable.path(), variable.value().detached());
}

/// Trainable ones first: the order of this format.
Variables legacy_weights(const Layer& layer) {
  Variables all = layer.trainable_weights();
  for (const Variable& variable : layer.non_trainable_weights()) all.push_back(variable);
  return all;
}

std::string inside(const char* group, const std::string& name) {
  std::string path = group;
  return path.append("/").append(name);
}

void write_layers(Writer& writer, const Model& model) {
  writer.create_group(kWeights);
  std::vector<std::string> names;
  for (const Layer& layer : model.layers()) {
    names.push_back(layer.name());
    naming_layer(layer, [&] { write_values(writer, inside(kWeights, names.back()), legacy_weights(layer)); });
  }
  set_names(writer, kWeights, "layer_names", names);
  writer.set_attribute(kWeights, "backend", kBackend);
  writer.set_attribute(kWeights, "keras_version", kKerasVersion);
  Variables own = model.node().own_weights();
  for (const Variable& state : model.node().own_state()) own.push_back(state);
  write_values(writer, inside(kWeights, "top_level_model_weights"), own);
}

void write_optimizer(Writer& writer, const Model& model) {
  const BaseOptimizer& optimizer = model.optimizer().node();
  std::vector<std::string> names;
  std::set<std::string> taken;
  const std::vector<OptimizerVariable> state = state_for_file(optimizer);
  for (const OptimizerVariable& variable : state) {
    std::string plain = variable.name;
    std::replace(plain.begin(), plain.end(), '/', '_');
    std::string name = optimizer.name() + "/" + plain;
    for (int more = 1; !taken.insert(name).second; ++more)
      name = optimizer.name() + "/" + plain + "_" + std::to_string(more);
    names.push_back(name);
  }
  writer.create_group(kOptimizer);
  set_names(writer, kOptimizer, "weight_names", names);
  for (size_t i = 0; i < state.size(); ++i)
    writer.write_dataset(inside(kOptimizer, names[i]), state[i].value);
}

/// Throws InvalidArgumentError for a layer that keeps more than configuration and weights.
void check_no_texts(const Model& model) {
  for (const WeightsGroup& group : walk_weights(model))
    if (const auto* keeper = dynamic_cast<const LayerFiles*>(&group.layer.node());
        keeper && !keeper->texts().empty())
      throw InvalidArgumentError("layer " + detail::in_quotes(group.name) + " (" + group.layer.class_name() +
                                 "): an .h5 file has no place for what adapt() or set_vocabulary() gave it; "
                                 "save the model as .keras");
}

}  // namespace

void write_legacy_hdf5(const Model& model, const std::string& path) {
  check_built(model, "save");
  check_no_texts(model);
  const Json config = model_to_json(model);
  Writer writer;
  writer.set_attribute("/", "keras_version", kKerasVersion);
  writer.set_attribute("/", "backend", kBackend);
  writer.set_attribute("/", "model_config", json_text(legacy_model(config), "save"));
  const bool is_trainable = model.compiled() && config.contains("compile_config");
  if (is_trainable)
    writer.set_attribute("/", "training_config",
                         json_text(legacy_training(config["compile_config"]), "save"));
  write_layers(writer, model);
  if (is_trainable) write_optimizer(writer, model);
  write_once(model.model_node(), [&] { writer.save(path); });
}

}  // namespace nyala
