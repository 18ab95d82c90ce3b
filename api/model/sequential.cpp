#include <nyala/api/model/sequential.h>

#include <nyala/api/graph/fitted_input.h>
#include <nyala/api/layers/core/input.h>
#include <nyala/api/model/input_dtype.h>
#include <nyala/api/model/layer_call_count.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/parameters/variable_changes.h>

namespace nyala {

using namespace nyala::detail;

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
  if (names_.contains(layer.name()))
    throw InvalidArgumentError("Sequential: layers should have unique names, " + in_quotes(layer.name()) +
                               " occurs twice");
  if (built_ && !input_)
    throw StateError(
        "Sequential: the model was built for data already; add layers before or begin with an Input");
  names_.insert(layer.name());
  try {
    chain_.push_back(layer);
    add_sublayer(layer.name(), layer);
  } catch (...) {  // without memory it was not added
    names_.erase(layer.name());
    chain_.resize(sublayers_.size(), layer);
    throw;
  }
  built_ = false;
  is_planned_ = false;
}

void SequentialNode::pop() {
  if (chain_.empty()) throw StateError("Sequential: there is no layer to pop");
  names_.erase(chain_.back().name());
  chain_.pop_back();
  sublayers_.pop_back();
  note_variable_change();
  is_planned_ = false;
  if (nodes_.size() <= chain_.size()) return;
  outputs_ = {nodes_.back()->inputs[0]};
  nodes_.pop_back();
}

DType SequentialNode::input_dtype() const {
  if (input_) return input_tensor(input_.node()).dtype();
  if (chain_.empty()) return compute_dtype();
  const DType dtype = chain_[0].compute_dtype();
  return takes_whole_numbers(chain_[0].node()) ? promote(dtype, DType::float32) : dtype;  // ids above 256
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

// What was traced from the Input stays when layers are added behind it.
void SequentialNode::build(Builder&, const Shapes& inputs) {
  if (!input_ && chain_.empty())
    throw StateError("Sequential: the model cannot be built because it has no layers; call model.add(layer)");
  if (inputs.size() != 1)
    throw InvalidArgumentError("expected one input, received " + std::to_string(inputs.size()));
  is_planned_ = false;
  if (!input_ || nodes_.empty()) {
    nodes_.clear();
    inputs_ = outputs_ = {input_ ? input_tensor(input_.node()) : input_for(inputs[0], input_dtype())};
  }
  while (nodes_.size() < chain_.size()) {
    const LayerNode& added = chain_[nodes_.size()].node();
    if (!added.sublayers().empty()) check_layer_calls(*this);  // chains of layers grow by one at a time
    const Tensor x = chain_[nodes_.size()](outputs_[0]);
    Tensors outputs{x};
    nodes_.push_back(symbolic(x)->producer);
    outputs_.swap(outputs);
  }
}

void SequentialNode::plan() const {
  const int count = static_cast<int>(nodes_.size());
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

const FusedGraph& SequentialNode::planned() const {
  if (is_planned_.load(std::memory_order_acquire)) return graph_;
  const std::lock_guard lock(planning_);
  if (!is_planned_.load(std::memory_order_relaxed)) plan();
  is_planned_.store(true, std::memory_order_release);
  return graph_;
}

Tensor SequentialNode::converted(const Tensor& input) const {
  if (inputs_.empty() || input.dtype() == inputs_[0].dtype()) return input;
  const bool keeps = !chain_.empty() && takes_whole_numbers(chain_[0].node());
  return in_input_dtype(input, inputs_[0], keeps, {name()});
}

Tensor SequentialNode::call(Call& c, const Tensor& input) const {
  if (input.is_abstract() || nodes_.size() != chain_.size()) {
    Tensor x = converted(input);
    for (const Layer& layer : chain_) x = layer(c, x);
    return x;
  }
  const FusedGraph& graph = planned();
  Tensors values(static_cast<size_t>(graph.plan().num_values));
  values[0] = converted(input_ ? fitted_input(input, inputs_[0].shape(), name(), 0) : input);
  graph.run(c, input, values);
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
