#include <nyala/api/model/functional.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include <nyala/api/layers/input.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/cast.h>
#include <nyala/backend/ops/dispatch.h>

namespace nyala {

FunctionalNode::FunctionalNode(Tensors inputs, Tensors outputs)
    : inputs_(std::move(inputs)), outputs_(std::move(outputs)), topology_(sort_graph(inputs_, outputs_)) {
  if (inputs_.empty() || outputs_.empty()) throw InvalidArgumentError("Model: expected inputs and outputs");
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

/// In place of a value's number: the node holds the tensor, as in `x / 3.0`.
constexpr int kConstant = -1;

Tensor constant_of(const GraphNode& node, size_t input, Device device) {
  const Tensor& constant = node.inputs[input];
  return constant.device() == device ? constant : constant.to(device);
}

using Place = std::pair<const GraphNode*, size_t>;

Place place_of(const Tensor& tensor) { return {symbolic(tensor)->producer.get(), symbolic(tensor)->index}; }

/// Keras' MultiHeadAttention takes the masks off its query, value and key: calls that Keras runs behind it
/// see them without, unless the mask was drawn as an argument of theirs. The result: which inputs, as (call,
/// index).
std::set<Place> inputs_without_masks(const Topology& topology) {
  std::set<Place> bare, found;
  for (const auto& node : topology.run_order) {
    if (!node->layer) continue;
    for (size_t i = 0; i < node->inputs.size(); ++i)
      if (node->masks.size() <= i || !symbolic(node->masks[i]))
        if (bare.contains(place_of(node->inputs[i]))) found.emplace(node.get(), i);
    if (node->layer.class_name() != "MultiHeadAttention") continue;
    for (size_t i = 0; i < std::min<size_t>(node->inputs.size(), 3); ++i)
      if (mask_of(node->inputs[i]).defined()) bare.insert(place_of(node->inputs[i]));
  }
  return found;
}

/// Whether the call is given a mask by the graph. Otherwise tensors carry the masks that layers make, and the
/// nodes drawn for those need not run; unless `all` are given because one was taken off.
bool is_given_mask(const GraphNode& node, size_t i, bool all) {
  return node.has_own_mask(i) || (all && i < node.masks.size() && symbolic(node.masks[i]));
}

/// The nodes that values come from.
std::set<const GraphNode*> needed_nodes(const Topology& topology, const Tensors& outputs, bool all_masks) {
  std::set<const GraphNode*> needed;
  for (const Tensor& output : outputs) needed.insert(symbolic(output)->producer.get());
  for (auto node = topology.nodes.rbegin(); node != topology.nodes.rend(); ++node) {
    if (!needed.contains(node->get())) continue;
    for (size_t i = 0; i < (*node)->inputs.size(); ++i) {
      if (symbolic((*node)->inputs[i])) needed.insert(symbolic((*node)->inputs[i])->producer.get());
      if (is_given_mask(**node, i, all_masks)) needed.insert(symbolic((*node)->masks[i])->producer.get());
    }
  }
  return needed;
}

}  // namespace

void FunctionalNode::plan() {
  std::map<std::pair<const GraphNode*, size_t>, int> number;
  auto value_of = [&](const Tensor& tensor) {
    const SymbolicNotes* notes = symbolic(tensor);
    return number.at({notes->producer.get(), notes->index});
  };
  for (const Tensor& input : inputs_) {
    number[{symbolic(input)->producer.get(), symbolic(input)->index}] = num_values_;
    input_values_.push_back(num_values_++);
  }
  const std::set<Place> bare = inputs_without_masks(topology_);
  const std::set<const GraphNode*> needed = needed_nodes(topology_, outputs_, !bare.empty());
  for (const auto& node : topology_.nodes) {
    if (number.contains({node.get(), 0})) continue;  // an input of this model, perhaps made by a layer
    if (!needed.contains(node.get())) continue;
    Step step{node.get(), {}, num_values_, {}, {}, {}, ops::Activation::linear};
    for (const Tensor& input : node->inputs)
      step.inputs.push_back(symbolic(input) ? value_of(input) : kConstant);
    for (size_t i = 0; i < node->inputs.size(); ++i)
      if (bare.contains({node.get(), i})) step.bare.push_back(i);
    for (size_t i = 0; i < node->masks.size(); ++i)
      if (is_given_mask(*node, i, !bare.empty()))
        step.masks.emplace_back(static_cast<int>(i), value_of(node->masks[i]));
    for (size_t i = 0; i < node->outputs.size(); ++i) number[{node.get(), i}] = num_values_++;
    steps_.push_back(std::move(step));
  }
  for (const Tensor& output : outputs_) output_values_.push_back(value_of(output));
  fuse_activations();
  find_last_uses();
}

/// A layer whose only reader is an activation that it can compute itself takes that step over.
void FunctionalNode::fuse_activations() {
  std::vector<int> uses(static_cast<size_t>(num_values_), 0), reader(static_cast<size_t>(num_values_), -1);
  for (size_t i = 0; i < steps_.size(); ++i)
    for (int value : steps_[i].inputs) {
      if (value == kConstant) continue;
      ++uses[static_cast<size_t>(value)];
      reader[static_cast<size_t>(value)] = static_cast<int>(i);
    }
  for (const Step& step : steps_)
    for (const auto& [input, value] : step.masks) ++uses[static_cast<size_t>(value)];
  for (int value : output_values_) ++uses[static_cast<size_t>(value)];
  std::vector<bool> absorbed(steps_.size(), false);
  for (Step& step : steps_) {
    const size_t value = static_cast<size_t>(step.first_output);
    if (!step.node->layer || uses[value] != 1 || reader[value] < 0) continue;
    const size_t next = static_cast<size_t>(reader[value]);
    const LayerNode *own = &step.node->layer.node(),
                    *after = steps_[next].node->layer ? &steps_[next].node->layer.node() : nullptr;
    const auto activation = after ? after->as_activation() : ops::Activation::linear;
    if (activation == ops::Activation::linear || !own->fuses(activation) || own->dtype() != after->dtype() ||
        step.node->device != steps_[next].node->device)
      continue;
    step.activation = activation;
    step.first_output = steps_[next].first_output;
    absorbed[next] = true;
  }
  std::vector<Step> kept;
  for (size_t i = 0; i < steps_.size(); ++i)
    if (!absorbed[i]) kept.push_back(std::move(steps_[i]));
  steps_ = std::move(kept);
}

void FunctionalNode::find_last_uses() {
  std::vector<int> last_step(static_cast<size_t>(num_values_), -1);
  for (size_t i = 0; i < steps_.size(); ++i) {
    for (int value : steps_[i].inputs)
      if (value != kConstant) last_step[static_cast<size_t>(value)] = static_cast<int>(i);
    for (const auto& [input, value] : steps_[i].masks)
      last_step[static_cast<size_t>(value)] = static_cast<int>(i);
  }
  for (int value : output_values_) last_step[static_cast<size_t>(value)] = -1;
  for (int value = 0; value < num_values_; ++value)
    if (const int step = last_step[static_cast<size_t>(value)]; step >= 0)
      steps_[static_cast<size_t>(step)].last_uses.push_back(value);
}

void FunctionalNode::place() {
  const bool has_devices = std::any_of(steps_.begin(), steps_.end(),
                                       [](const Step& step) { return step.node->device != kNoPlacement; });
  if (!has_devices) return;
  std::vector<PlacedStep> steps;
  for (const Step& step : steps_) {
    steps.push_back(
        {step.node->device, step.inputs, step.first_output, static_cast<int>(step.node->outputs.size())});
    std::erase(steps.back().inputs, kConstant);
    for (const auto& [input, value] : step.masks) steps.back().inputs.push_back(value);
  }
  Tensors shells(static_cast<size_t>(num_values_));
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const Tensor mask = mask_of(inputs_[i]);
    Tensor& shell = shells[static_cast<size_t>(input_values_[i])];
    shell = mask.defined() ? with_mask(inputs_[i].shell(), mask.shell()) : inputs_[i].shell();
  }
  placed_ = std::make_unique<PlacedGraph>(
      std::move(steps), output_values_, std::move(shells),
      [this](Call& c, size_t step, Tensors& values) { run_step(c, steps_[step], values); });
}

std::vector<Device> FunctionalNode::placed_devices() const {
  return placed_ ? placed_->devices() : std::vector<Device>();
}

void FunctionalNode::run_step(Call& c, const Step& step, Tensors& values) const {
  auto value = [&](int i) -> Tensor& { return values[static_cast<size_t>(i)]; };
  const GraphNode& node = *step.node;
  auto given = [&](size_t i) {
    for (const auto& [input, mask] : step.masks)
      if (static_cast<size_t>(input) == i) return given_mask(value(step.inputs[i]), value(mask));
    if (std::find(step.bare.begin(), step.bare.end(), i) != step.bare.end())
      return with_mask(value(step.inputs[i]), {});
    if (step.inputs[i] == kConstant) return constant_of(node, i, value(step.inputs[i == 0 ? 1 : 0]).device());
    return value(step.inputs[i]);
  };
  if (node.layer && !node.layer.node().takes_many()) {
    value(step.first_output) = node.layer.node().invoke(c, given(0), step.activation);
  } else {
    Tensors inputs;
    for (size_t i = 0; i < step.inputs.size(); ++i) inputs.push_back(given(i));
    if (node.layer) {
      if (node.arguments) inputs[0] = with_call_arguments(inputs[0], node.arguments);
      Outputs outputs = node.layer.node().invoke(c, Inputs(inputs));
      std::move(outputs.begin(), outputs.end(), values.begin() + step.first_output);
    } else if (node.operation) {
      for (Tensor& input : inputs) input = with_mask(input, {});
      Outputs outputs = node.operation->run(inputs);
      std::move(outputs.begin(), outputs.end(), values.begin() + step.first_output);
    } else {
      std::vector<const Tensor*> pointers;
      for (const Tensor& input : inputs) pointers.push_back(&input);
      dispatch(*node.op, node.descriptor, pointers,
               std::span(values).subspan(static_cast<size_t>(step.first_output), node.outputs.size()));
    }
  }
}

Outputs FunctionalNode::call(Call& c, Inputs inputs) const {
  if (inputs.size() != inputs_.size())
    throw InvalidArgumentError("expected " + std::to_string(inputs_.size()) + " inputs, received " +
                               std::to_string(inputs.size()));
  Tensors values(static_cast<size_t>(num_values_));
  for (size_t i = 0; i < inputs.size(); ++i) values[static_cast<size_t>(input_values_[i])] = inputs[i];
  if (placed_ && !c.replica() && !inputs[0].is_abstract()) {
    placed_->run(c, values, static_cast<size_t>(input_values_[0]));
  } else {
    for (const Step& step : steps_) {
      run_step(c, step, values);
      for (const int used : step.last_uses) values[static_cast<size_t>(used)] = Tensor();
    }
  }
  Outputs outputs;
  for (int value : output_values_) outputs.push_back(values[static_cast<size_t>(value)]);
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
