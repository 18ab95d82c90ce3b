#pragma once

#include <string>

#include <nyala/api/model/config/load_report.h>
#include <nyala/api/model/model.h>
#include <nyala/api/saving/arrays/stored_array.h>

namespace nyala {

/// A model's weights by Keras' variable path ("sequential/dense/kernel"), as `.safetensors` and `.npz` hold
/// them; the values are shared. Throws StateError for a model that is not built, InvalidArgumentError for two
/// variables of one path.
NamedArrays named_weights(const Model& model);

/// Gives the model's variables the values of their paths. Where no path of the file is one of the model's,
/// names below the two models count ("dense/kernel" of "sequential/dense/kernel"): with `by_name` those that
/// both have, which may not be none; else all, or (numbers in automatic names count on) variables are paired
/// in order, wider dtypes first. Throws NotFoundError or ShapeError naming file and variable unless `config`
/// skips it; nothing is changed then. The report names variables.
LoadReport read_named_weights(const Model& model, const StoredArrays& arrays, const std::string& file_name,
                              const LoadWeightsConfig& config = {});

}  // namespace nyala
