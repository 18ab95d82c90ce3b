// A graph is what calls leave behind: a symbolic tensor carries a note with the node that made it, and a node
// holds its inputs, so that a model is what can be reached from its outputs. Shapes come from running the
// layer on abstract tensors. Nodes hold each other in chains of any length, hence the destructor takes them
// apart in a loop instead of by recursion, which would overflow the stack.
#include <nyala/api/graph/graph.h>

#include <nyala/api/layers/base/takes_all_masks.h>
#include <nyala/api/layers/base/trace_hook.h>
#include <nyala/api/layers/rnn/recurrent_layer.h>
#include <nyala/api/saving/ops/op_class.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/dispatch.h>
#include <nyala/backend/ops/nn/einsum.h>

namespace nyala {

using namespace nyala::detail;

const SymbolicMetadata* symbolic(const Tensor& tensor) {
  return dynamic_cast<const SymbolicMetadata*>(tensor.metadata().get());
}

GraphPlace place_of(const Tensor& tensor) {
  const SymbolicMetadata& metadata = *symbolic(tensor);
  return {metadata.producer.get(), metadata.index};
}

GraphNode::~GraphNode() {
  thread_local std::unique_ptr<Remains>* open = nullptr;  // of the outermost destructor on this thread
  std::unique_ptr<Remains>& remains = place_.remains;
  remains->inputs.swap(inputs);
  remains->masks.swap(masks);
  remains->output_masks.swap(output_masks);
  if (open) {
    remains->next = std::move(*open);
    *open = std::move(remains);
    return;
  }
  std::unique_ptr<Remains> own = std::move(remains);
  open = &own;
  while (own) {
    const std::unique_ptr<Remains> now = std::move(own);
    own = std::move(now->next);
  }
  open = nullptr;
}

bool GraphNode::has_own_mask(size_t i) const {
  if (i >= masks.size() || !masks[i].defined()) return false;
  if (has_given_mask(inputs[i])) return true;
  const SymbolicMetadata* mask = symbolic(masks[i]);
  if (!mask || !symbolic(inputs[i])) return false;
  const SymbolicMetadata& input = *symbolic(inputs[i]);
  if (input.index >= input.producer->output_masks.size()) return true;
  const SymbolicMetadata* made = symbolic(input.producer->output_masks[input.index]);
  return !made || made->producer != mask->producer || made->index != mask->index;
}

Tensors symbolic_outputs(const std::shared_ptr<const GraphNode>& node) {
  Tensors out;
  for (size_t i = 0; i < node->outputs.size(); ++i) {
    Tensor tensor = node->outputs[i].as_abstract();
    tensor.set_metadata(std::make_shared<SymbolicMetadata>(node, i));
    const bool masked = i < node->output_masks.size() && node->output_masks[i].defined();
    out.push_back(masked ? with_mask(tensor, node->output_masks[i]) : std::move(tensor));
  }
  return out;
}

namespace {

Device remembered_device() {
  const ThreadContext& context = thread_context();
  return context.is_placed() ? context.device : kNoPlacement;
}

/// Masks of a call's outputs become nodes of the graph, as in Keras; one that only the layer's inside knows
/// stays without.
void trace_masks(GraphNode& node) {
  bool masked = node.layer.node().makes_mask();
  for (const Tensor& input : node.inputs) masked = masked || mask_of(input).defined();
  for (const Tensor& output : node.outputs) masked = masked || mask_of(output).defined();
  if (!masked) return;
  node.output_masks = node.layer.node().compute_mask(Inputs(node.inputs), node.outputs.size());
  for (size_t i = 0; i < node.outputs.size(); ++i)
    if (!node.output_masks[i].defined()) node.output_masks[i] = mask_of(node.outputs[i]);
}

/// Runs `layer` on abstract copies of its inputs, some of which are symbolic and the others constants, and
/// adds the call to the graph.
Tensors trace_call(const Layer& layer, const Tensors& inputs) {
  auto node = std::make_shared<GraphNode>();
  node->layer = layer;
  node->device = remembered_device();
  node->arguments = inputs.empty() ? nullptr : call_arguments_of(inputs[0]);
  node->inputs = inputs;
  if (node->arguments) node->inputs[0] = with_call_arguments(inputs[0], nullptr);
  Tensors abstract;
  Shapes shapes;
  for (const Tensor& input : inputs) {
    if (!symbolic(input) && input.is_abstract())
      throw InvalidArgumentError("layer " + in_quotes(layer.name()) + ": a tensor of shape " +
                                 input.shape().to_string() +
                                 " was made while the graph is traced and has no values");
    const Tensor mask = mask_of(input);
    abstract.push_back(!mask.defined()         ? input.as_abstract()
                       : has_given_mask(input) ? given_mask(input.as_abstract(), mask.as_abstract())
                                               : with_mask(input.as_abstract(), mask.as_abstract()));
    shapes.push_back(input.shape());
    if (!layer.node().uses_mask()) continue;
    const bool used = inputs.size() == 1 || !takes_initial_states(layer) || has_given_mask(input);
    node->masks.push_back(used ? mask : Tensor());
  }
  // Keras traces the masks of single inputs, of sequences with states and of models; those of other layers
  // travel alone.
  const bool takes_all = dynamic_cast<const TakesAllMasks*>(&layer.node());
  if (inputs.size() > 1 && !takes_initial_states(layer) && !takes_all)
    for (size_t i = 0; i < node->masks.size(); ++i)
      if (!node->has_own_mask(i)) node->masks[i] = Tensor();
  // The graph holds what it calls, whoever traces it.
  const ScopedValue<const RunningCall*> on_its_own(thread_context().running, nullptr);
  layer.node().ensure_built(shapes);
  abstract[0] = with_call_arguments(abstract[0], node->arguments);
  Call call;
  if (layer.node().takes_many() || abstract.size() > 1)  // which a layer of one tensor refuses
    node->outputs = layer.node().invoke(call, abstract);
  else
    node->outputs = {layer.node().invoke(call, abstract.at(0))};
  trace_masks(*node);
  layer.node().add_call(node);
  return symbolic_outputs(node);
}

/// An einsum runs as the ops that it is made of, which depend on the sizes that only the run knows.
class TracedEinsum final : public GraphOperation {
 public:
  explicit TracedEinsum(std::string equation) : equation_(std::move(equation)) {}
  std::string class_name() const override { return "Einsum"; }
  Tensors run(const Tensors& inputs) const override { return {ops::einsum(equation_, inputs)}; }

 private:
  std::string equation_;
};

/// Ops inside a layer's call see abstract tensors without marks and trace nothing; ops on marked tensors
/// become nodes.
void trace_op(const OpDef& op, const Descriptor& descriptor, TensorPointers inputs,
              std::span<Tensor> outputs) {
  bool marked = false;
  for (const Tensor* input : inputs) marked = marked || symbolic(*input);
  if (!marked) return;
  for (const Tensor* input : inputs)
    if (input->is_abstract() && !symbolic(*input))
      throw InvalidArgumentError(std::string(op.name) + ": a tensor of shape " + input->shape().to_string() +
                                 " was made while the graph is traced and has no values; make it in the call "
                                 "of a layer, a Lambda say, "
                                 "which runs with each batch");
  auto node = std::make_shared<GraphNode>();
  node->op = &op;
  node->descriptor = descriptor;
  if (&op == &ops::kEinsum)
    node->operation = std::make_shared<TracedEinsum>(descriptor.as<ops::EinsumDescriptor>().equation.data());
  node->device = remembered_device();
  node->op_class = op_class_of(op, descriptor);
  node->name = unique_name(node->op_class);
  for (const Tensor* input : inputs) node->inputs.push_back(*input);
  node->outputs.assign(outputs.begin(), outputs.end());
  const Tensors traced = symbolic_outputs(node);
  std::copy(traced.begin(), traced.end(), outputs.begin());
}

}  // namespace

Tensors trace_operation(std::shared_ptr<const GraphOperation> operation, const std::string& name,
                        const Tensors& inputs) {
  auto node = std::make_shared<GraphNode>();
  Tensors abstract;
  for (const Tensor& input : inputs) abstract.push_back(symbolic(input) ? input.as_abstract() : input);
  node->outputs = operation->run(abstract);
  node->operation = std::move(operation);
  node->device = remembered_device();
  node->op_class = node->operation->class_name();
  node->name = name.empty() ? unique_name(node->op_class) : name;
  node->inputs = inputs;
  return symbolic_outputs(node);
}

void enable_symbolic_ops() {
  set_symbolic_hook(trace_op);
  set_trace_hook(trace_call);
}

}  // namespace nyala
