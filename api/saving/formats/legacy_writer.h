#pragma once

#include <string>

#include <nyala/api/model/model.h>

namespace nyala {

/// Writes a whole-model `.h5` in the layout of Keras 3's legacy format: attributes model_config,
/// training_config, keras_version and backend, the weights by layer name, the optimizer's state. Keras 3
/// opens it (Keras 2 does not read this form of config). Calls of operations (`x * 2`) keep Keras 3's
/// envelope: Keras leaves it out in its own files and cannot open them then. Written beside and renamed.
/// Throws as write_keras_archive.
void write_legacy_hdf5(const Model& model, const std::string& path);

}  // namespace nyala
