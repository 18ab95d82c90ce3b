#include <nyala/api/model/sequential.h>

#include <nyala/api/layers/input.h>
#include <nyala/api/model/fitted_input.h>
#include <nyala/backend/core/error.h>

namespace nyala {

SequentialNode::SequentialNode(const std::vector<Layer>& layers) {
  for (const Layer& layer : layers) {
    if (is_input_layer(layer.node())) {
      if (input_ || !chain_.empty())
        throw InvalidArgumentError("Sequential: an Input may only be the first entry");
      input_ = layer;
    } else {
      add(layer);
    }
  }
}

void SequentialNode::add(const Layer& layer) {
  if (is_input_layer(layer.node())) {
    if (input_ || !chain_.empty())
      throw InvalidArgumentError("Sequential: an Input may only be the first entry");
    input_ = layer;
    return;
  }
  for (const Layer& existing : chain_)
    if (existing.name() == layer.name())
      throw InvalidArgumentError("Sequential: layers should have unique names, '" + layer.name() +
                                 "' occurs twice");
  if (built_ && !input_)
    throw StateError(
        "Sequential: the model was built for data already; add layers before or begin with an Input");
  chain_.push_back(layer);
  add_sublayer(layer.name(), layer);
  built_ = false;
  graph_.clear();
}

void SequentialNode::pop() {
  if (chain_.empty()) throw StateError("Sequential: there is no layer to pop");
  chain_.pop_back();
  sublayers_.pop_back();
  graph_.clear();
  if (nodes_.empty()) return;
  outputs_ = {nodes_.back()->inputs[0]};
  nodes_.pop_back();
}

namespace {

/// What a chain without an Input begins with for data of this shape.
Tensor input_for(const Shape& shape, DType dtype) {
  if (shape.rank() == 0) throw ShapeError("Sequential: expected inputs with a batch axis, received a scalar");
  return Input({.shape = shape.slice(1, shape.rank()),
                .batch_size = shape[0],
                .dtype = std::string(name_of(dtype))})
      .tensor();
}

}  // namespace

void SequentialNode::build(Builder&, const Shapes& inputs) {
  if (!input_ && chain_.empty())
    throw StateError("Sequential: the model cannot be built because it has no layers; call model.add(layer)");
  if (inputs.size() != 1)
    throw InvalidArgumentError("expected one input, received " + std::to_string(inputs.size()));
  Tensor x = input_ ? input_tensor(input_.node()) : input_for(inputs[0], dtype());
  inputs_ = {x};
  nodes_.clear();
  for (const Layer& layer : chain_) {
    x = layer(x);
    nodes_.push_back(symbolic(x)->producer);
  }
  outputs_ = {x};
  plan();
}

void SequentialNode::plan() {
  const int count = static_cast<int>(chain_.size());
  GraphPlan plan{.outputs = {count}, .num_values = count + 1};
  for (int i = 0; i < count; ++i) {
    GraphStep step;
    step.node = nodes_[static_cast<size_t>(i)].get();
    step.inputs = {i};
    step.first_output = i + 1;
    plan.steps.push_back(std::move(step));
  }
  graph_.set(std::move(plan));
}

Tensor SequentialNode::call(Call& c, const Tensor& input) const {
  if (input.is_abstract() || graph_.plan().steps.empty()) {
    Tensor x = input;
    for (const Layer& layer : chain_) x = layer(c, x);
    return x;
  }
  Tensors values(static_cast<size_t>(graph_.plan().num_values));
  values[0] = input_ ? fitted_input(input, input_tensor(input_.node()).shape(), name(), 0) : input;
  graph_.run(c, input, values);
  return std::move(values.back());
}

std::vector<std::string> SequentialNode::output_names(size_t) const {
  return {chain_.empty() ? name() : chain_.back().name()};
}

Shapes SequentialNode::input_shapes() const {
  if (!input_) return {};
  return {input_tensor(input_.node()).shape()};
}

}  // namespace nyala
