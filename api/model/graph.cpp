#include <nyala/api/model/graph.h>

#include <cctype>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/arithmetic.h>
#include <nyala/backend/ops/dispatch.h>

namespace nyala {

const SymbolicNotes* symbolic(const Tensor& tensor) {
  return dynamic_cast<const SymbolicNotes*>(tensor.notes().get());
}

Tensors symbolic_outputs(const std::shared_ptr<GraphNode>& node) {
  Tensors out;
  for (size_t i = 0; i < node->outputs.size(); ++i) {
    Tensor tensor = node->outputs[i].shell();
    tensor.set_notes(std::make_shared<SymbolicNotes>(node, i));
    out.push_back(std::move(tensor));
  }
  return out;
}

Tensors draw_call(const Layer& layer, const Tensors& inputs) {
  auto node = std::make_shared<GraphNode>();
  node->layer = layer;
  node->inputs = inputs;
  Tensors shells;
  Shapes shapes;
  for (const Tensor& input : inputs) {
    if (!symbolic(input))
      throw InvalidArgumentError(
          "layer '" + layer.name() +
          "': a symbolic and an ordinary tensor were passed together; wrap constants in a layer");
    shells.push_back(input.shell());
    shapes.push_back(input.shape());
  }
  layer.node().ensure_built(shapes);
  Call call;
  if (layer.node().takes_many())
    node->outputs = layer.node().invoke(call, shells);
  else
    node->outputs = {layer.node().invoke(call, shells.at(0))};
  return symbolic_outputs(node);
}

namespace {

/// Keras' name of the operation: `x + 1.0` is an add there, one affine op here.
std::string keras_name(const OpDef& op, const Descriptor& descriptor) {
  if (&op != &ops::kAffine) return std::string(op.name == "divide" ? "true_divide" : op.name);
  const auto& affine = descriptor.as<ops::AffineDescriptor>();
  if (affine.offset == 0.0) return affine.scale == -1.0 ? "negative" : "multiply";
  if (affine.scale == -1.0 || (affine.scale == 1.0 && affine.offset < 0.0)) return "subtract";
  return affine.scale == 1.0 ? "add" : "affine";
}

/// "not_equal" -> "NotEqual".
std::string camel_case(const std::string& name) {
  std::string out;
  for (size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '_') continue;
    const bool upper = i == 0 || name[i - 1] == '_';
    out += upper ? static_cast<char>(std::toupper(static_cast<unsigned char>(name[i]))) : name[i];
  }
  return out;
}

/// Ops inside a layer's call see shells without marks and draw nothing; ops on marked tensors become nodes.
void draw_op(const OpDef& op, const Descriptor& descriptor, TensorPointers inputs,
             std::span<Tensor> outputs) {
  bool marked = false;
  for (const Tensor* input : inputs) marked = marked || symbolic(*input);
  if (!marked) return;
  auto node = std::make_shared<GraphNode>();
  node->op = &op;
  node->descriptor = descriptor;
  node->op_class = camel_case(keras_name(op, descriptor));
  node->name = unique_name(node->op_class);
  for (const Tensor* input : inputs) node->inputs.push_back(*input);
  node->outputs.assign(outputs.begin(), outputs.end());
  const Tensors drawn = symbolic_outputs(node);
  std::copy(drawn.begin(), drawn.end(), outputs.begin());
}

}  // namespace

void enable_symbolic_ops() { set_symbolic_hook(draw_op); }

}  // namespace nyala
