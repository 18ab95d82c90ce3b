#pragma once

#include <memory>
#include <utility>
#include <vector>

#include <nyala/api/layers/base/call_arguments.h>
#include <nyala/api/layers/base/layer.h>
#include <nyala/api/layers/base/mask.h>
#include <nyala/backend/core/op.h>
#include <nyala/backend/runtime/context.h>

namespace nyala {

/// An operation of Keras' that is one node of a graph however many ops compute it here. Constant and
/// thread-safe.
class GraphOperation {
 public:
  virtual ~GraphOperation() = default;
  /// Keras' class name, "GetItem".
  virtual std::string class_name() const = 0;
  virtual Tensors run(const Tensors& inputs) const = 0;
};

/// One call of a layer, one op, or one input in a graph that was traced by calling layers on symbolic
/// tensors.
struct GraphNode {
  Layer layer;  // empty for an op and for an input
  // The Input's layer; it holds this node, so it is kept alive by the tensors' marks instead.
  std::weak_ptr<LayerNode> input_layer;
  const OpDef* op = nullptr;  // null for a layer and for an operation
  Descriptor descriptor;
  std::shared_ptr<const GraphOperation> operation = {};
  std::shared_ptr<const CallArguments> arguments = {};  // of a layer's call; null: none
  mutable std::string name;                             // of the op's node; changed only by sort_graph
  std::string op_class;                                 // of the op's node, as Keras calls it: "Add"
  Tensors inputs;                                       // symbolic or constants; empty for an Input
  Tensors outputs;                                      // abstract
  Device device = kNoPlacement;  // of the device() guard that was open when it was traced
  // Of a layer that uses masks, what was traced or given as the mask of each input; undefined where there is
  // none.
  Tensors masks;
  Tensors output_masks;  // what was traced as the mask of each output, perhaps undefined

  GraphNode() = default;
  /// Not recursive, however long the chain of nodes that nothing else holds.
  ~GraphNode();
  GraphNode(const GraphNode&) = default;
  GraphNode& operator=(const GraphNode&) = default;

  bool is_input() const { return inputs.empty(); }
  /// Input `i` has a mask other than the one that its producer gives it: a symbolic one, or a constant.
  bool has_own_mask(size_t i) const;

 private:
  /// A place for what the node holds, until the destructors that run on this thread are at its turn.
  struct Remains {
    Tensors inputs, masks, output_masks;
    std::unique_ptr<Remains> next;
  };
  /// Made with the node, because destructors must not allocate.
  struct Place {
    Place() = default;
    Place(const Place&) {}
    Place& operator=(const Place&) { return *this; }
    std::unique_ptr<Remains> remains = std::make_unique<Remains>();
  };
  Place place_;
};

/// Marks a symbolic tensor: output `index` of `producer`.
struct SymbolicMetadata final : MaskMetadata {
  SymbolicMetadata(std::shared_ptr<const GraphNode> node, size_t output)
      : producer(std::move(node)), index(output) {}
  std::shared_ptr<const GraphNode> producer;
  size_t index;
  std::shared_ptr<LayerNode> input_layer = {};  // keeps an Input alive as long as its tensor is used

  std::shared_ptr<MaskMetadata> clone() const override { return std::make_shared<SymbolicMetadata>(*this); }
  bool is_symbolic() const override { return true; }
};

/// The mark of a symbolic tensor, or null.
const SymbolicMetadata* symbolic(const Tensor& tensor);

/// Which output of which node a symbolic tensor is.
using GraphPlace = std::pair<const GraphNode*, size_t>;
GraphPlace place_of(const Tensor& symbolic);

/// `node`'s outputs as symbolic tensors, with the masks that were traced for them.
Tensors symbolic_outputs(const std::shared_ptr<const GraphNode>& node);

/// Adds an operation on symbolic tensors to the graph under `name` (empty: an automatic one) and returns what
/// it gives.
Tensors trace_operation(std::shared_ptr<const GraphOperation> operation, const std::string& name,
                        const Tensors& inputs);

/// Lets ops and layers on symbolic tensors add nodes to the graph; called by everything that makes a symbolic
/// tensor.
void enable_symbolic_ops();

}  // namespace nyala
