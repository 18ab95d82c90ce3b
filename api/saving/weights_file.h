#pragma once

#include <string>

#include <nyala/api/model/model.h>
#include <nyala/api/saving/hdf5/group.h>
#include <nyala/api/saving/hdf5/writer.h>

namespace nyala {

/// Puts a model's weights, and its optimizer's state where there is one, into `writer` in the layout of Keras 3's
/// `.weights.h5`. No name of a device, replica or strategy enters the file.
void write_weights(const Model& model, hdf5::Writer& writer);

/// Reads weights from such a file; with them the optimizer's state where model and file have one that fits (a warning
/// where it does not fit, as Keras does). Throws StateError for a model that is not built, NotFoundError or ShapeError
/// naming the layer; nothing is changed then.
void read_weights(const Model& model, const hdf5::Group& root, const std::string& file_name);

}  // namespace nyala
