#pragma once

#include <string>

#include <nyala/api/model/config/load_report.h>
#include <nyala/api/model/model.h>
#include <nyala/files/hdf5/group.h>

namespace nyala {

/// True for the layout of Keras 1 and 2, and of Keras 3's .h5: groups by layer name, attribute layer_names.
bool is_legacy_weights(const hdf5::Group& root);

/// Reads the weights. Arrays of older forms are brought to today's: LSTM of twelve arrays, GRU of nine,
/// kernels of one-dimensional convolutions with four axes, cuDNN's biases. In a nested model names decide,
/// since the order depends on what was frozen. Layers are paired by name where all names are there, else in
/// order, as in Keras; with by_name only by name. Throws FileFormatError, NotFoundError or ShapeError naming
/// the layer unless `config` skips it; nothing is changed then.
LoadReport read_legacy_weights(const Model& model, const hdf5::Group& root, const std::string& file_name,
                               const LoadWeightsConfig& config = {});

/// The optimizer's state of a whole-model file, where it fits; a warning where it does not.
void read_legacy_optimizer(const Model& model, const hdf5::Group& root, const std::string& file_name);

}  // namespace nyala
