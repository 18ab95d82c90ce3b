#pragma once

#include <nyala/api/model/model.h>
#include <nyala/files/json/strict_json.h>

namespace nyala {

/// The whole model in Keras 3's form: its envelope with build_config and compile_config.
Json model_to_json(const Model& model);

}  // namespace nyala
