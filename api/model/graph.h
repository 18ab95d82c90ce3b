#pragma once

#include <memory>
#include <vector>

#include <nyala/api/layers/layer.h>
#include <nyala/backend/core/op.h>

namespace nyala {

/// One call of a layer, one op, or one input in a graph that was drawn by calling layers on symbolic tensors.
struct GraphNode {
  Layer layer;  // empty for an op and for an input
  // The Input's layer; it holds this node, so it is kept alive by the tensors' marks instead.
  std::weak_ptr<LayerNode> input_layer;
  const OpDef* op = nullptr;  // null for a layer
  Descriptor descriptor;
  std::string name;      // of the op's node; layers have their own
  std::string op_class;  // of the op's node, as Keras calls it: "Add"
  Tensors inputs;        // symbolic; empty for an Input
  Tensors outputs;       // shells of what it produces

  bool is_input() const { return inputs.empty(); }
};

/// Marks a symbolic tensor: output `index` of `producer`.
struct SymbolicNotes final : TensorNotes {
  SymbolicNotes(std::shared_ptr<const GraphNode> node, size_t output)
      : producer(std::move(node)), index(output) {}
  std::shared_ptr<const GraphNode> producer;
  size_t index;
  std::shared_ptr<LayerNode> input_layer = {};  // keeps an Input alive as long as its tensor is used
};

/// The mark of a symbolic tensor, or null.
const SymbolicNotes* symbolic(const Tensor& tensor);

/// Makes `node`'s outputs symbolic tensors.
Tensors symbolic_outputs(const std::shared_ptr<GraphNode>& node);

/// Runs `layer` on shells of symbolic tensors and adds the call to the graph.
Tensors draw_call(const Layer& layer, const Tensors& inputs);

/// Lets ops on symbolic tensors add nodes to the graph; called by everything that makes a symbolic tensor.
void enable_symbolic_ops();

}  // namespace nyala
