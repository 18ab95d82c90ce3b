#pragma once

#include <memory>

#include <nyala/api/layers/base/layer.h>

namespace nyala {

/// What tells one merging layer from another: Keras' name, and what it makes of inputs of one rank, which may
/// carry masks.
struct MergeKind {
  const char* class_name;
  Tensor (*merge)(Inputs inputs);
  size_t num_inputs = 0;  // 0: any
};

namespace detail {

/// The node behind Add, Subtract, Multiply, Average, Maximum and Minimum. All but the batch broadcast; where
/// ranks differ, axes of size 1 are put behind the batch. A step of the result counts where that of any input
/// does, if all have masks. Throws ShapeError where inputs do not fit, InvalidArgumentError for another
/// number of them.
std::shared_ptr<LayerNode> make_merge_node(const MergeKind& kind, const LayerOptions& options);

/// Of neighbours from the first on: as Keras' Maximum and Minimum a step that its mask leaves out gives way
/// to what the inputs in front made of it, and is replaced by what comes behind.
Tensor merge_unmasked(Inputs inputs, Tensor (*merge)(const Operand&, const Operand&));

/// The mask of `x` as a condition for its elements, or an undefined tensor.
Tensor element_mask(const Tensor& x);

}  // namespace detail

}  // namespace nyala
