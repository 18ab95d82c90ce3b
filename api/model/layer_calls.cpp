#include <algorithm>

#include <nyala/api/graph/graph.h>
#include <nyala/api/layers/base/keep_output_shapes.h>
#include <nyala/api/layers/base/layer.h>
#include <nyala/api/layers/base/mask.h>
#include <nyala/api/layers/core/input.h>
#include <nyala/api/model/model_node.h>
#include <nyala/backend/core/error.h>

namespace nyala {

using namespace nyala::detail;

std::vector<std::shared_ptr<const GraphNode>> LayerNode::calls() const {
  std::vector<std::shared_ptr<const GraphNode>> out;
  for (const auto& call : calls_)
    if (auto living = call.lock()) out.push_back(std::move(living));
  return out;
}

void LayerNode::add_call(const std::shared_ptr<const GraphNode>& call) const {
  if (calls_.size() == calls_.capacity()) {  // not with each call: there may be many
    std::erase_if(calls_, [](const auto& one) { return one.expired(); });
    if (calls_.size() > calls_.capacity() / 2) calls_.reserve(2 * calls_.size());
  }
  calls_.push_back(call);
}

namespace {

std::string place(const LayerNode& node) {
  return "layer " + in_quotes(node.name()) + " (" + node.class_name() + "): ";
}

std::shared_ptr<const GraphNode> call_of(const LayerNode& node, int call) {
  auto calls = node.calls();
  const int count = static_cast<int>(calls.size()), position = call < 0 ? call + count : call;
  if (position >= 0 && position < count) return calls[static_cast<size_t>(position)];
  if (count > 0)
    throw StateError(place(node) + "there is no call " + std::to_string(call) + ", it is part of " +
                     std::to_string(count) + " as long as their models and tensors exist");
  throw StateError(
      place(node) +
      (dynamic_cast<const ModelNode*>(&node)
           ? "a model has inputs and outputs once it is built as a graph: begin it with an Input, or "
             "call build(shape)"
           : "it has inputs and outputs once it was called on a symbolic tensor, as long as the "
             "model or a tensor behind the call exists"));
}

enum class Side { in, out };

/// What a model or an Input stands between, or nothing.
Tensors own_tensors(LayerNode& node, Side side) {
  if (is_input_layer(node)) return {input_tensor(node)};
  const auto* model = dynamic_cast<const ModelNode*>(&node);
  if (!model) return {};
  return side == Side::in ? model->inputs() : model->outputs();
}

Tensors tensors_of(LayerNode& node, Side side, std::optional<int> call) {
  if (!call || is_input_layer(node))
    if (Tensors own = own_tensors(node, side); !own.empty()) return own;
  const auto traced = call_of(node, call.value_or(0));
  return side == Side::in ? traced->inputs : symbolic_outputs(traced);
}

Tensor only(const LayerNode& node, Tensors tensors, const char* name) {
  if (tensors.size() == 1) return std::move(tensors[0]);
  throw StateError(place(node) + "it has " + std::to_string(tensors.size()) + " " + name + "s; use " + name +
                   "s()");
}

Shapes shapes_of(const Tensors& tensors) {
  Shapes shapes;
  for (const Tensor& tensor : tensors) shapes.push_back(tensor.shape());
  return shapes;
}

bool is_traced(LayerNode& node) { return !own_tensors(node, Side::in).empty() || !node.calls().empty(); }

const Shapes& built_for(const LayerNode& node) {
  if (!node.built_for().empty()) return node.built_for();
  throw StateError(place(node) + "it has no shapes before it is built: call it, or build(shape)");
}

Shape only(const LayerNode& node, const Shapes& shapes, const char* name) {
  if (shapes.size() == 1) return shapes[0];
  throw StateError(place(node) + "it has " + std::to_string(shapes.size()) + " " + name + "s; use " + name +
                   "_shapes()");
}

void check_takes_mask(const LayerNode& node) {
  if (!node.uses_mask())
    throw InvalidArgumentError(place(node) +
                               "expected a call without a mask, since it looks at none, received .mask; one "
                               "of your own overrides uses_mask() and reads mask_of(x)");
}

Tensor masked(const LayerNode& node, const Tensor& input, const LayerCall& call) {
  if (!call.mask.defined()) return input;
  check_takes_mask(node);
  return given_mask(input, call.mask);
}

void collect_losses(const LayerNode& node, Variables& seen, Tensors& out) {
  for (const RegularizedWeight& weight : node.regularized()) {
    if (!weight.variable.trainable()) continue;
    if (std::find(seen.begin(), seen.end(), weight.variable) != seen.end()) continue;
    seen.push_back(weight.variable);
    out.push_back(weight.regularizer(weight.variable.value()));
  }
  for (const auto& [attribute, layer] : node.sublayers()) collect_losses(layer.node(), seen, out);
}

}  // namespace

Tensors Layer::inputs(std::optional<int> call) const { return tensors_of(node(), Side::in, call); }
Tensors Layer::outputs(std::optional<int> call) const { return tensors_of(node(), Side::out, call); }
Tensor Layer::input(std::optional<int> call) const { return only(node(), inputs(call), "input"); }
Tensor Layer::output(std::optional<int> call) const { return only(node(), outputs(call), "output"); }

Tensor Layer::operator()(const Tensor& input, const LayerCall& call) const {
  return (*this)(masked(node(), input, call));
}

Tensor Layer::operator()(Call& c, const Tensor& input, const LayerCall& call) const {
  return (*this)(c, masked(node(), input, call));
}

Tensor Layer::operator()(const std::vector<Tensor>& inputs, const LayerCall& call) const {
  std::vector<Tensor> all = inputs;
  if (!all.empty()) all[0] = masked(node(), all[0], call);
  return (*this)(all);
}

Outputs Layer::call_all(const std::vector<Tensor>& inputs, const LayerCall& call) const {
  std::vector<Tensor> all = inputs;
  if (!all.empty()) all[0] = masked(node(), all[0], call);
  return call_all(all);
}

Shapes Layer::input_shapes() const { return is_traced(node()) ? shapes_of(inputs()) : built_for(node()); }

Shapes Layer::output_shapes() const {
  return is_traced(node()) ? shapes_of(outputs()) : compute_output_shapes(built_for(node()));
}

Shape Layer::input_shape() const { return only(node(), input_shapes(), "input"); }
Shape Layer::output_shape() const { return only(node(), output_shapes(), "output"); }

Shape Layer::compute_output_shape(const Shape& input) const {
  const Shapes shapes = compute_output_shapes({input});
  if (shapes.size() == 1) return shapes[0];
  throw StateError(place(node()) + "it has " + std::to_string(shapes.size()) +
                   " outputs; use compute_output_shapes()");
}

Shapes Layer::compute_output_shapes(const Shapes& inputs) const {
  LayerNode& layer = node();
  if (inputs.empty()) throw InvalidArgumentError(place(layer) + "compute_output_shapes expected a shape");
  layer.ensure_built(inputs);
  const KeepOutputShapes kept;
  const Tensors own = own_tensors(layer, Side::in);
  Tensors abstract;
  for (size_t i = 0; i < inputs.size(); ++i)
    abstract.push_back(Tensor::abstract(inputs[i], i < own.size() ? own[i].dtype() : layer.compute_dtype()));
  Call call;
  const Outputs outputs = layer.takes_many() || abstract.size() > 1
                              ? layer.invoke(call, Inputs(abstract))
                              : Outputs{layer.invoke(call, abstract[0])};
  Shapes shapes;
  for (const Tensor& output : outputs) shapes.push_back(output.shape());
  return shapes;
}

Tensors Layer::losses() const {
  Variables seen;
  Tensors out;
  if (trainable()) collect_losses(node(), seen, out);
  return out;
}

}  // namespace nyala
