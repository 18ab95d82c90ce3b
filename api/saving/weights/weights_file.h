#pragma once

#include <string>
#include <vector>

#include <nyala/api/model/config/load_report.h>
#include <nyala/api/model/model.h>
#include <nyala/api/saving/weights/weights_tree.h>
#include <nyala/files/hdf5/writer.h>

namespace nyala {

/// The group that a checkpoint has besides those of Keras.
inline constexpr const char* kCheckpointGroup = "nyala_checkpoint";

/// Whether a model is built, or has no call() of its own and all its parts are.
bool has_its_weights(const Model& model);

/// Throws StateError, beginning with `what`, for a model that is not built.
void check_built(const Model& model, const std::string& what);

/// All values of a dataset, on the host. They may lie in the file itself, so are not to be written to.
Tensor read_tensor(const hdf5::Dataset& dataset);

/// The optimizer's state as files hold it: count of steps and rate alone before the first step, as in Keras,
/// which makes slots in the first one. Shared with the optimizer.
std::vector<OptimizerVariable> state_for_file(const BaseOptimizer& optimizer);

/// Whether an optimizer that made no step has its slots in the file: Keras has none then, a checkpoint needs
/// them to bring an optimizer back to its beginning.
enum class SlotsInFile { after_first_step, always };

/// Puts a model's weights, and its optimizers' states where there are any, into `writer` in the layout of
/// Keras 3's `.weights.h5`; they are not copied and must not change until the file is written. No name of a
/// device, replica or strategy enters the file. Throws StateError for a model that is not built.
void write_weights(const Model& model, hdf5::Writer& writer,
                   SlotsInFile slots = SlotsInFile::after_first_step);

/// Puts an optimizer's state below `group`, and that of optimizers inside of it.
void write_optimizer(hdf5::Writer& writer, const std::string& group, const BaseOptimizer& optimizer,
                     SlotsInFile slots);
/// The state that a file has below `group`, or nothing.
Tensors read_optimizer(const WeightsTree& tree, const std::string& group, const std::string& file_name);

/// What to do where an optimizer's state in a file does not fit.
enum class OptimizerMismatch { warn, fail };

/// Of a LossScaleOptimizer the optimizer inside, else `optimizer`.
BaseOptimizer& without_loss_scale(BaseOptimizer& optimizer);

/// Gives a compiled model's optimizer the state of a file, in the order of Keras' optimizer.variables. A
/// state of an optimizer that never made a step is left alone. One that had no LossScaleOptimizer goes to the
/// optimizer inside of it, whose scale stays.
void load_optimizer_state(const Model& model, const Tensors& values, const std::string& file_name,
                          OptimizerMismatch mismatch);

/// Reads weights from such a file; with them the optimizers' states where model and file have them. Groups
/// that the model has no layer for are left alone, with a warning. Throws StateError for a model that is not
/// built, NotFoundError or ShapeError naming the layer unless `config` skips it; nothing is changed then.
LoadReport read_weights(const Model& model, const WeightsTree& tree, const std::string& file_name,
                        const LoadWeightsConfig& config = {},
                        OptimizerMismatch mismatch = OptimizerMismatch::warn);

}  // namespace nyala
