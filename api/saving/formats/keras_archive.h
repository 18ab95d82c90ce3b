#pragma once

#include <string>

#include <nyala/api/model/model.h>
#include <nyala/api/saving/formats/format.h>

namespace nyala {

/// The version of Keras whose files these are like.
inline constexpr const char* kKerasVersion = "3.15.1";

/// Writes `.keras`: a ZIP archive of metadata.json, config.json, model.weights.h5 and assets, as Keras 3 does
/// it. Throws IoError, StateError for a model that is not built, InvalidArgumentError for what no file can
/// hold.
void write_keras_archive(const Model& model, const std::string& path);

/// Gives each layer what the archive holds for it beside configuration and weights (LayerFiles).
void set_assets(const Model& model, const StoredModel& stored);

}  // namespace nyala
