// Traced once into a plan: values numbered, steps in topological order, only what outputs need. Masks travel
// with tensors while it runs; nodes that were traced for masks run only where a call names one that its
// input's producer did not give.
#include <nyala/api/model/functional.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include <nyala/api/graph/fitted_input.h>
#include <nyala/api/graph/part_constants.h>
#include <nyala/api/layers/core/input.h>
#include <nyala/api/model/input_dtype.h>
#include <nyala/api/model/layer_call_count.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/base/dispatch.h>

namespace nyala {

using namespace nyala::detail;

FunctionalNode::FunctionalNode(Tensors inputs, Tensors outputs)
    : inputs_(std::move(inputs)), outputs_(std::move(outputs)), topology_(sort_graph(inputs_, outputs_)) {
  if (inputs_.empty() || outputs_.empty()) throw InvalidArgumentError("Model: expected inputs and outputs");
  check_layer_calls(*this);
  for (const auto& operation : topology_.operations)
    if (operation->layer) add_sublayer(operation->layer.name(), operation->layer);
  plan();
  place();
  mark_built();
}

Layer FunctionalNode::layer_of(const GraphNode& node) {
  return node.layer ? node.layer : Layer(node.input_layer.lock());
}

namespace {

/// The inputs that an earlier call stripped of their masks, as (call, index), unless the mask was traced as
/// an argument.
std::set<GraphPlace> inputs_without_masks(const Topology& topology) {
  std::set<GraphPlace> bare, found;
  for (const auto& node : topology.run_order) {
    if (!node->layer) continue;
    for (size_t i = 0; i < node->inputs.size(); ++i)
      if (node->masks.size() <= i || !symbolic(node->masks[i]))
        if (symbolic(node->inputs[i]) && bare.contains(place_of(node->inputs[i])))
          found.emplace(node.get(), i);
    if (!node->layer.node().strips_masks()) continue;
    for (size_t i = 0; i < std::min<size_t>(node->inputs.size(), 3); ++i)
      if (symbolic(node->inputs[i]) && mask_of(node->inputs[i]).defined())
        bare.insert(place_of(node->inputs[i]));
  }
  return found;
}

/// Whether the call is given a mask by the graph. Otherwise tensors carry the masks that layers make, and the
/// nodes traced for those need not run; unless `all` are given because one was taken off.
bool is_given_mask(const GraphNode& node, size_t i, bool all) {
  return node.has_own_mask(i) || (all && i < node.masks.size() && symbolic(node.masks[i]));
}

/// A mask that the call was given is inside like one that the input came with, as in Keras.
Tensor with_own_mask(const Tensor& x) { return has_given_mask(x) ? with_mask(x, mask_of(x)) : x; }

/// The nodes that values come from.
std::set<const GraphNode*> needed_nodes(const Topology& topology, const Tensors& outputs, bool all_masks) {
  std::set<const GraphNode*> needed;
  for (const Tensor& output : outputs) needed.insert(symbolic(output)->producer.get());
  for (auto node = topology.nodes.rbegin(); node != topology.nodes.rend(); ++node) {
    if (!needed.contains(node->get())) continue;
    for (size_t i = 0; i < (*node)->inputs.size(); ++i) {
      if (symbolic((*node)->inputs[i])) needed.insert(symbolic((*node)->inputs[i])->producer.get());
      if (is_given_mask(**node, i, all_masks) && symbolic((*node)->masks[i]))
        needed.insert(symbolic((*node)->masks[i])->producer.get());
    }
  }
  return needed;
}

}  // namespace

void FunctionalNode::plan() {
  GraphPlan plan;
  std::map<std::pair<const GraphNode*, size_t>, int> number;
  auto value_of = [&](const Tensor& tensor) {
    const SymbolicMetadata* metadata = symbolic(tensor);
    return number.at({metadata->producer.get(), metadata->index});
  };
  for (const Tensor& input : inputs_) {
    number[{symbolic(input)->producer.get(), symbolic(input)->index}] = plan.num_values;
    input_values_.push_back(plan.num_values++);
  }
  const std::set<GraphPlace> bare = inputs_without_masks(topology_);
  const std::set<const GraphNode*> needed = needed_nodes(topology_, outputs_, !bare.empty());
  for (const auto& node : topology_.nodes) {
    if (number.contains({node.get(), 0})) continue;  // an input of this model, perhaps made by a layer
    if (!needed.contains(node.get())) continue;
    GraphStep step;
    step.node = node.get();
    step.first_output = plan.num_values;
    for (const Tensor& input : node->inputs)
      step.inputs.push_back(symbolic(input) ? value_of(input) : kConstant);
    for (size_t i = 0; i < node->inputs.size(); ++i)
      if (bare.contains({node.get(), i})) step.bare.push_back(i);
    for (size_t i = 0; i < node->masks.size(); ++i)
      if (is_given_mask(*node, i, !bare.empty()))
        step.masks.emplace_back(static_cast<int>(i),
                                symbolic(node->masks[i]) ? value_of(node->masks[i]) : kConstant);
    if (!node->layer && std::ranges::find(step.inputs, kConstant) != step.inputs.end())
      step.choices = std::make_shared<detail::PartChoices>();
    for (size_t i = 0; i < node->outputs.size(); ++i) number[{node.get(), i}] = plan.num_values++;
    plan.steps.push_back(std::move(step));
  }
  for (const Tensor& output : outputs_) plan.outputs.push_back(value_of(output));
  for (const int value : input_values_) keeps_whole_numbers_.push_back(keeps_whole_numbers(plan, value));
  graph_.set(std::move(plan));
}

void FunctionalNode::place() {
  const GraphPlan& plan = graph_.plan();
  const bool has_devices = std::any_of(plan.steps.begin(), plan.steps.end(), [](const GraphStep& step) {
    return step.node->device != kNoPlacement;
  });
  if (!has_devices) return;
  std::vector<PlacedStep> steps;
  for (const GraphStep& step : plan.steps) {
    steps.push_back(
        {step.node->device, step.inputs, step.first_output, static_cast<int>(step.node->outputs.size())});
    for (const auto& [input, value] : step.masks) steps.back().inputs.push_back(value);
    std::erase(steps.back().inputs, kConstant);
  }
  Tensors abstract_values(static_cast<size_t>(plan.num_values));
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const Tensor mask = mask_of(inputs_[i]);
    Tensor& abstract = abstract_values[static_cast<size_t>(input_values_[i])];
    abstract =
        mask.defined() ? with_mask(inputs_[i].as_abstract(), mask.as_abstract()) : inputs_[i].as_abstract();
  }
  placed_ = std::make_unique<PlacedGraph>(
      std::move(steps), plan.outputs, std::move(abstract_values),
      [this](Call& c, size_t step, Tensors& values) { run_step(c, graph_.plan().steps[step], values); });
}

std::vector<Device> FunctionalNode::placed_devices() const {
  return placed_ ? placed_->devices() : std::vector<Device>();
}

Outputs FunctionalNode::call(Call& c, Inputs inputs) const {
  if (inputs.size() != inputs_.size())
    throw InvalidArgumentError("expected " + std::to_string(inputs_.size()) + " inputs, received " +
                               std::to_string(inputs.size()));
  Tensors values(static_cast<size_t>(graph_.plan().num_values));
  for (size_t i = 0; i < inputs.size(); ++i)
    values[static_cast<size_t>(input_values_[i])] =
        in_input_dtype(fitted_input(with_own_mask(inputs[i]), inputs_[i].shape(), name(), i), inputs_[i],
                       keeps_whole_numbers_[i], {name(), i});
  if (placed_ && !c.replica() && !inputs[0].is_abstract()) {
    placed_->run(c, values, static_cast<size_t>(input_values_[0]));
  } else {
    graph_.run(c, inputs[0], values);
  }
  Outputs outputs;
  for (int value : graph_.plan().outputs) outputs.push_back(values[static_cast<size_t>(value)]);
  return outputs;
}

Tensor FunctionalNode::call(Call& c, const Tensor& input) const {
  return std::move(call(c, Inputs(&input, 1))[0]);
}

std::vector<Layer> FunctionalNode::layers() const {
  std::vector<Layer> out;
  for (const auto& operation : topology_.operations)
    if (const Layer layer = layer_of(*operation)) out.push_back(layer);
  return out;
}

std::vector<std::string> FunctionalNode::output_names(size_t) const {
  if (!nesting_.output_names.empty()) return nesting_.output_names;
  std::vector<std::string> names;
  for (const Tensor& output : outputs_) {
    const GraphNode& producer = *symbolic(output)->producer;
    const Layer layer = layer_of(producer);
    names.push_back(layer ? layer.name() : producer.name);
  }
  return names;
}

std::vector<std::string> FunctionalNode::input_names() const {
  std::vector<std::string> names;
  for (const Tensor& input : inputs_) names.push_back(symbolic(input)->producer->name);
  return names;
}

Shapes FunctionalNode::input_shapes() const {
  Shapes shapes;
  for (const Tensor& input : inputs_) shapes.push_back(input.shape());
  return shapes;
}

}  // namespace nyala
