#pragma once

#include <string>

#include <nyala/api/model/model.h>

namespace nyala {

/// Writes `.keras`: a ZIP archive of metadata.json, config.json and model.weights.h5, as Keras 3 does it.
/// Throws IoError, StateError for a model that is not built, InvalidArgumentError for what no file can hold.
void write_keras_archive(const Model& model, const std::string& path);

}  // namespace nyala
