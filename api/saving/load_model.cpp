#include <nyala/api/saving/load_model.h>

#include <algorithm>

#include <nyala/api/model/model_node.h>
#include <nyala/api/saving/config/config_reader.h>
#include <nyala/api/saving/config/layer_config.h>
#include <nyala/api/saving/config/model_json.h>
#include <nyala/api/saving/config/save_notes.h>
#include <nyala/api/saving/config/training_config.h>
#include <nyala/api/saving/formats/format.h>
#include <nyala/api/saving/formats/keras_archive.h>
#include <nyala/api/saving/formats/legacy_weights.h>
#include <nyala/api/saving/formats/legacy_writer.h>
#include <nyala/api/saving/weights/weights_file.h>
#include <nyala/api/saving/weights/weights_from_file.h>
#include <nyala/api/saving/weights/write_once.h>
#include <nyala/api/training/model_use.h>
#include <nyala/api/training/check_status.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/core/log.h>
#include <nyala/backend/runtime/memory_report.h>
#include <nyala/files/base/file_errors.h>
#include <nyala/files/json/json_text.h>

namespace nyala {

namespace {

LoadScope scope_of(const LoadModelConfig& config) {
  LoadScope scope{config.custom_objects};
  if (!config.dtype_policy.empty()) scope.dtype_policy = DTypePolicy(config.dtype_policy);
  return scope;
}

/// Whether a config's policy is one of 16-bit floats.
bool has_half_policy(const Json& config) {
  const Json* const dtype = config.is_object() ? config.find("dtype") : nullptr;
  if (!dtype || (dtype->is_string() && !dtype->as_string().starts_with("mixed_"))) return false;
  return policy_of(config, "").find("float16") != std::string::npos;
}

/// Whether a layer in it has such a policy.
bool has_half_layers(const Json& json) {
  if (json.is_array()) return std::any_of(json.begin(), json.end(), has_half_layers);
  return json.is_object() && std::ranges::any_of(json.items(), [](const JsonMember& each) {
           return (each.key == "config" && has_half_policy(each.value)) || has_half_layers(each.value);
         });
}

Model model_from(const Json& config, const std::string& where, LoadScope& scope) {
  if (scope.dtype_policy) scope.keeps_float32 = has_half_layers(config);
  const Layer layer = layer_from_json(config, where, scope);
  if (auto node = std::dynamic_pointer_cast<ModelNode>(layer.shared())) return Model(node);
  throw FileFormatError(where + ": expected a model, found a layer (" + layer.class_name() + ")");
}

/// Old files name losses and metrics that nobody knows any more: those cost the compilation, not the weights.
void compile_loaded(const Model& model, const StoredModel& stored, LoadScope& scope) {
  try {
    compile_from_json(model, stored.compile_config, stored.name, scope);
  } catch (const Error& error) {
    let_out_of_memory_pass(error);
    if (!stored.legacy) throw;
    log(LogChannel::warning, stored.name + ": the model is not compiled: " + error.what());
    model.model_node().set_no_loss_because(std::string("it could not be restored: ") + error.what());
  }
}

void read_stored_weights(const Model& model, const StoredModel& stored) {
  const hdf5::Group& root = stored.file->root();
  if (!stored.legacy) {
    read_weights(model, root, stored.file->name());
    return;
  }
  read_legacy_weights(model, root, stored.name);
  read_legacy_optimizer(model, root, stored.name);
}

Model load(const std::string& path, const LoadModelConfig& config) {
  const StoredModel stored = read_stored_model(path);
  if (stored.config.is_null())
    throw FileFormatError(path + ": it holds weights, but no model; build the model and call load_weights");
  LoadScope scope = scope_of(config);
  const Model model = [&] {
    const WeightsFromFile no_others(ReadBudget({stored.file->root()}, path));
    return model_from(stored.config, path, scope);
  }();
  if (config.compile)
    compile_loaded(model, stored, scope);
  else
    model.model_node().set_no_loss_because("load_model was told .compile = false");
  warn_of_unknown_options(scope, path);
  if (has_its_weights(model))
    read_stored_weights(model, stored);
  else if (stored.file && !stored.file->root().dataset_paths().empty())
    throw FileFormatError(path + ": model " + detail::in_quotes(model.name()) +
                          " has weights, but the file does not say for which input; give it an Input, or "
                          "make the class again, build(shape) and load_weights");
  set_assets(model, stored);
  model.model_node().set_loaded_from(path);
  return model;
}

}  // namespace

Model load_model(const std::string& path, const LoadModelConfig& config) {
  return with_memory_errors(path.c_str(),
                            [&] { return naming_file(path, [&] { return load(path, config); }); });
}

bool holds_model(const std::string& path) {
  return naming_file(path, [&] { return !read_stored_model(path).config.is_null(); });
}

Model model_from_json(const std::string& text, const LoadModelConfig& config) {
  const std::string who = "model_from_json";
  LoadScope scope = scope_of(config);
  const Model model = naming_file(who, [&] { return model_from(parse_json(text, who), who, scope); });
  warn_of_unknown_options(scope, who);
  return model;
}

Model clone_model(const Model& model, const LoadModelConfig& config) {
  LoadScope scope = scope_of(config);
  model.model_node();  // throws for an empty handle
  return model_from(layer_to_json(model), "clone_model", scope);
}

Optimizer parse_optimizer(const std::string& name_or_json) {
  if (name_or_json.find('{') == std::string::npos) return Optimizer(name_or_json);
  LoadScope scope;
  const Optimizer optimizer = naming_file("optimizer", [&] {
    return optimizer_from_json(parse_json(name_or_json, "optimizer"), "optimizer", scope);
  });
  warn_of_unknown_options(scope, "optimizer");
  return optimizer;
}

namespace {

void write_model(const Model& model, const std::string& path) {
  check_trained_status(model.model_node());
  if (path.ends_with(".keras")) return naming_file(path, [&] { write_keras_archive(model, path); });
  const bool is_hdf5 = path.ends_with(".h5") || path.ends_with(".hdf5");
  if (is_hdf5 && !path.ends_with(".weights.h5"))
    return naming_file(path, [&] { write_legacy_hdf5(model, path); });
  throw InvalidArgumentError("save: expected a path that ends with '.keras' or '.h5', received '" + path +
                             "' (weights alone: save_weights)");
}

}  // namespace

void Model::save(const std::string& path) const {
  with_memory_errors(path.c_str(), [&] {
    const SharedUse use(model_node(), "save");
    if (const auto shared = model_node().template_model()) return Model(shared).save(path);
    write_with_all(*this, path, [&] { write_model(*this, path); });
  });
}

std::string Model::to_json() const {
  model_node();  // throws for an empty handle
  const SaveNotes notes;
  const Json json = layer_to_json(*this);
  notes.say("model " + detail::in_quotes(name()));
  return json_text(json, "to_json");
}

}  // namespace nyala
