#include <nyala/api/model/sequential.h>

#include <nyala/api/layers/input.h>
#include <nyala/backend/core/error.h>

namespace nyala {

SequentialNode::SequentialNode(const std::vector<Layer>& layers) {
  for (const Layer& layer : layers) {
    if (!layer) throw InvalidArgumentError("Sequential: an empty layer handle in the list");
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
}

void SequentialNode::build(Builder& builder, const Shapes& inputs) {
  if (inputs.size() != 1)
    throw InvalidArgumentError("expected one input, received " + std::to_string(inputs.size()));
  Call call;
  Tensor x = Tensor::abstract(inputs[0], dtype());
  if (input_) x = input_tensor(input_.node()).shell();
  Tensors shells{x};
  for (const Layer& layer : chain_) {
    builder.build(layer, x.shape());
    x = layer(call, x);
    shells.push_back(x.shell());
  }
  plan(shells);
}

void SequentialNode::plan(const Tensors& shells) {
  nodes_.clear();
  GraphPlan plan{.outputs = {static_cast<int>(chain_.size())}, .num_values = static_cast<int>(shells.size())};
  for (size_t i = 0; i < chain_.size(); ++i) {
    auto node = std::make_shared<GraphNode>();
    node->layer = chain_[i];
    node->inputs = {shells[i]};
    node->outputs = {shells[i + 1]};
    GraphStep step;
    step.node = node.get();
    step.inputs = {static_cast<int>(i)};
    step.first_output = static_cast<int>(i) + 1;
    nodes_.push_back(std::move(node));
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
  values[0] = input;
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
