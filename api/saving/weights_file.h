#pragma once

#include <string>

#include <nyala/api/model/model.h>
#include <nyala/api/saving/hdf5/group.h>
#include <nyala/api/saving/hdf5/writer.h>
#include <nyala/api/saving/load_report.h>

namespace nyala {

/// The group that a checkpoint has besides those of Keras.
inline constexpr const char* kCheckpointGroup = "nyala_checkpoint";

/// All values of a dataset, on the host.
Tensor read_tensor(const hdf5::Dataset& dataset);

/// Puts a model's weights, and its optimizer's state where there is one, into `writer` in the layout of Keras
/// 3's
/// `.weights.h5`. No name of a device, replica or strategy enters the file. Throws StateError for a model
/// that is not built.
void write_weights(const Model& model, hdf5::Writer& writer);

/// What to do where the optimizer's state in a file does not fit.
enum class OptimizerMismatch { warn, fail };

/// Reads weights from such a file; with them the optimizer's state where model and file have one. Groups that
/// the model has no layer for are left alone, with a warning. Throws StateError for a model that is not
/// built, NotFoundError or ShapeError naming the layer unless `config` skips it; nothing is changed then.
LoadReport read_weights(const Model& model, const hdf5::Group& root, const std::string& file_name,
                        const LoadWeightsConfig& config = {},
                        OptimizerMismatch mismatch = OptimizerMismatch::warn);

}  // namespace nyala
