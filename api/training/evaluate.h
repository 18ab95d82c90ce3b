#pragma once

#include <nyala/api/model/model.h>

namespace nyala {

class FeatureCache;
struct CompiledTraining;

/// What compile() said. Throws StateError before it, naming the call `what`.
CompiledTraining& compiled_training_of(const Model& model, const char* what);

/// Puts sample weights into arrays. Throws InvalidArgumentError for a Dataset, for another number of weights
/// than targets and for an output that the model does not have.
void give_weights(DataArgument& data, const PerOutput<Tensor>& weights, const ModelNode& model,
                  const char* what);

/// Throws ShapeError where an array does not fit its input, as a batch of it would, but with its own shape.
/// Whole numbers become those of a narrower Input; throws InvalidArgumentError for one that it does not hold.
void fit_inputs(DataArgument& data, const ModelNode& model);

/// Loss and metrics over all batches of `data`, with the hooks of config.callbacks and, for verbose 1 and 2,
/// a progress line. With a cache of a fit that goes on, frozen features are kept there. Throws StateError
/// before compile.
Logs evaluate_data(const Model& model, const DataArgument& data, const EvaluateConfig& config,
                   FeatureCache* cache = nullptr);

/// The outputs for all rows of `data`.
Tensors predict_data(const Model& model, DataArgument data, const PredictConfig& config);

}  // namespace nyala
