#pragma once

#include <string>

#include <nyala/api/model/model.h>
#include <nyala/api/saving/config/register_serializable.h>

namespace nyala {

struct LoadModelConfig {
  /// Layers and models of your own by class name: `{{"MyLayer", custom_object<MyLayer>()}}`. Those that
  /// register_serializable named are found without.
  CustomObjects custom_objects = {};
  /// Compile as the file says, optimizer state included.
  bool compile = true;
  /// Kept for Keras' sake: code in a file is never run, whatever this says.
  bool safe_mode = true;
  /// Not in Keras: the DTypePolicy of all layers, instead of what the file says of each: a model that was
  /// trained in float32 goes on in "mixed_bfloat16". Inputs keep their dtypes. Empty: as the file says.
  std::string dtype_policy = {};
};

/// Opens a model that Keras (1.2 to 3.15) or Nyala wrote, in the strategy whose scope is open: `.keras`, or a
/// whole-model `.h5`. What kind of file it is, its content says, not its name.
/// Throws IoError, FileFormatError naming path, layer and reason for anything that is damaged, hostile or not
/// built yet.
Model load_model(const std::string& path, const LoadModelConfig& config = {});

/// Whether a file holds a model, or weights alone. Throws IoError, FileFormatError.
bool holds_model(const std::string& path);

/// The architecture alone, as `Model::to_json` gives it; weights are fresh.
Model model_from_json(const std::string& text, const LoadModelConfig& config = {});

/// A model of the same architecture with weights of its own, in the strategy whose scope is open; not
/// compiled. Its weights are fresh ones, as in Keras; set_weights(model.get_weights()) copies the values.
Model clone_model(const Model& model, const LoadModelConfig& config = {});

/// An optimizer from its name, or from JSON as Keras' files hold it: `{"class_name": "SGD", "config":
/// {"learning_rate": 0.1}}`. Throws InvalidArgumentError, FileFormatError.
Optimizer parse_optimizer(const std::string& name_or_json);

}  // namespace nyala
