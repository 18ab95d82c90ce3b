#pragma once

#include <nyala/api/model/model_node.h>

namespace nyala {

struct CompiledTraining;

/// Fixes losses, metrics and their names for the shapes of a first batch. Throws InvalidArgumentError for
/// losses or metrics of outputs that do not exist, for missing targets, and where there is no loss at all.
void resolve_outputs(CompiledTraining& compiled, const ModelNode& model, const Tensors& targets,
                     const Tensors& predictions);

/// ModelNode::no_loss_because in brackets, to end an error with; empty where there is no such reason.
std::string why_no_loss(const ModelNode& model);

}  // namespace nyala
