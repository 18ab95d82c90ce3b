#pragma once

#include <string>

#include <nyala/api/layers/base/layer.h>
#include <nyala/api/model/model.h>
#include <nyala/api/saving/config/load_scope.h>
#include <nyala/files/json/strict_json.h>

namespace nyala {

/// A layer or a model with its configuration as Keras 3 writes it. Throws InvalidArgumentError naming the
/// layer for what no file can hold, StateError for a user's class that is not registered.
Json layer_to_json(const Layer& layer);

/// The layer that such an envelope describes; a model is built where the file says for what. Throws
/// FileFormatError naming `where` and the layer: for a class that is not built yet, a Lambda with Python's
/// code, and anything that is not as Keras writes it.
Layer layer_from_json(const Json& json, const std::string& where, LoadScope& scope);

/// The functional graph between a model's inputs and outputs.
Json functional_config(const Model& model);
Layer functional_from_config(const Json& config, const std::string& where, LoadScope& scope);

/// Marks a model as not trainable and nothing inside it: the layers of a file carry flags of their own.
void freeze_model_alone(const Layer& model);

}  // namespace nyala
