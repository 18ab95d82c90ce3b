#pragma once

#include <string>

#include <nyala/files/json/strict_json.h>

namespace nyala {

/// The model_config of Keras 1 or 2 in the form of Keras 3: classes and keys by today's names, an InputLayer
/// where a first layer said its shape, calls as `args`. What Keras 3 wrote passes unchanged. `where` names
/// the file in errors. Throws FileFormatError.
Json upgrade_model_config(const Json& config, const std::string& keras_version, const std::string& where);

/// The training_config of a whole-model HDF5 file as a compile_config.
Json upgrade_training_config(const Json& config);

}  // namespace nyala
