#pragma once

#include <string>

#include <nyala/api/model/model.h>
#include <nyala/api/saving/config/load_scope.h>
#include <nyala/files/json/strict_json.h>

namespace nyala {

/// What compile() was told, as Keras' `compile_config`: optimizer, loss, loss_weights, metrics. A loss or
/// metric that is a C++ function without a registered name is left out, and noted (SaveNotes).
Json compile_to_json(const Model& model);

/// Compiles the model as such a text says. Throws FileFormatError naming `where`.
void compile_from_json(const Model& model, const Json& config, const std::string& where, LoadScope& scope);

Json optimizer_to_json(BaseOptimizer& optimizer);
Optimizer optimizer_from_json(const Json& json, const std::string& where, LoadScope& scope);
Loss loss_from_json(const Json& json, const std::string& where, LoadScope& scope);
Metric metric_from_json(const Json& json, const std::string& where, LoadScope& scope);

}  // namespace nyala
