#pragma once

#include <memory>

#include <nyala/api/model/model_node.h>

namespace nyala {

struct CompiledTraining;

/// A model in two parts that share its layers: prefix, from its inputs to features, and head, from the
/// features to its outputs.
struct FrozenSplit {
  std::shared_ptr<ModelNode> prefix;
  std::shared_ptr<ModelNode> head;
};

/// Cuts a built Sequential or functional model behind everything that can be computed once: calls that depend
/// on the inputs alone and whose layers train nothing (as `compiled` says), draw no random numbers, keep no
/// state and add no losses or metrics. Models inside are cut, too. `x` are abstract tensors of a batch.
/// Throws InvalidArgumentError, saying why, for a model of another kind, with masks or with calls placed on
/// devices, and where no frozen weights stand in front.
FrozenSplit split_frozen(ModelNode& model, const CompiledTraining& compiled, const Tensors& x);

}  // namespace nyala
