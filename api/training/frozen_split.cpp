// A node is computed once if everything that it reads is, and if it trains nothing, draws nothing, keeps no
// state and keeps each row by itself; all others are the head. One pass over the graph in order copies each
// node into one of two graphs, models inside are opened where only a part of them is frozen, and where the
// head reads the other side it gets an input. Side effects are found by calling the layer on abstract
// tensors, not from a list of layers.
#include <nyala/api/training/frozen_split.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <typeinfo>

#include <nyala/api/graph/graph.h>
#include <nyala/api/layers/base/call_arguments.h>
#include <nyala/api/layers/core/input.h>
#include <nyala/api/model/functional.h>
#include <nyala/api/model/sequential.h>
#include <nyala/api/training/state/compiled_training.h>
#include <nyala/backend/core/error.h>

namespace nyala {

using namespace nyala::detail;

namespace {

using Node = std::shared_ptr<const GraphNode>;

[[noreturn]] void refuse(const std::string& why) {
  throw InvalidArgumentError("cache_frozen_features: " + why);
}

bool is_graph(const LayerNode& node) {
  return typeid(node) == typeid(FunctionalNode) || typeid(node) == typeid(SequentialNode);
}

Tensor placeholder(const Tensor& like, const std::string& name) {
  const Shape& shape = like.shape();
  return Input({.shape = shape.slice(1, shape.rank()),
                .batch_size = shape[0],
                .dtype = std::string(name_of(like.dtype())),
                .name = name});
}

bool trains(const LayerNode& node, const CompiledTraining& compiled) {
  for (const Variable& weight : node.own_weights())
    if (compiled.trains(weight)) return true;
  for (const auto& [attribute, layer] : node.sublayers())
    if (trains(layer.node(), compiled)) return true;
  return false;
}

bool draws(LayerNode& node) {
  if (node.random_key()) return true;
  return std::any_of(node.sublayers().begin(), node.sublayers().end(),
                     [](const auto& sublayer) { return draws(sublayer.second.node()); });
}

bool has_variables(const LayerNode& node) {
  if (!node.own_weights().empty() || !node.own_state().empty()) return true;
  return std::any_of(node.sublayers().begin(), node.sublayers().end(),
                     [](const auto& sublayer) { return has_variables(sublayer.second.node()); });
}

bool has_masks(const GraphNode& node) {
  const auto defined = [](const Tensor& mask) { return mask.defined(); };
  return std::any_of(node.masks.begin(), node.masks.end(), defined) ||
         std::any_of(node.output_masks.begin(), node.output_masks.end(), defined);
}

/// What a call does besides computing its outputs, found by a call on abstract tensors; empty: nothing.
std::string side_effect(const GraphNode& node) {
  Tensors abstract;
  for (const Tensor& input : node.inputs) abstract.push_back(input.as_abstract());
  abstract[0] = with_call_arguments(abstract[0], node.arguments);
  Call probe({.training = true, .step = {}});
  const LayerNode& layer = node.layer.node();
  if (layer.takes_many())
    layer.invoke(probe, Inputs(abstract));
  else
    layer.invoke(probe, abstract[0]);
  if (probe.draws() > 0) return "draws random numbers";
  if (!probe.assignments().empty()) return "keeps state that training changes";
  if (!probe.losses().empty() || !probe.metrics().empty()) return "adds losses or metrics";
  return "";
}

class Splitter {
 public:
  Splitter(ModelNode& model, const CompiledTraining& compiled) : model_(model), compiled_(compiled) {
    count_names(model);
  }

  FrozenSplit split(const Tensors& x) {
    Values inputs;
    Tensors model_inputs;
    for (size_t i = 0; i < x.size(); ++i) {
      const Shapes known = model_.input_shapes();
      const Shape shape = known.empty() ? x[i].shape().with(0, None) : known[i];
      model_inputs.push_back(
          placeholder(Tensor::abstract(shape, x[i].dtype()), "input_" + std::to_string(i)));
      inputs.push_back({model_inputs.back(), true});
    }
    Tensors outputs;
    bool all_cached = true;
    for (const Value& value : trace(model_, inputs, "")) {
      all_cached = all_cached && value.cached;
      outputs.push_back(in_head(value));
    }
    if (all_cached) refuse("model " + in_quotes(model_.name()) + " has nothing that trains");
    check_useful();
    Tensors features, head_inputs;
    for (const auto& [feature, input] : cut_) {
      features.push_back(feature);
      head_inputs.push_back(input);
    }
    return {part(model_inputs, features, "frozen"), part(head_inputs, outputs, "trained")};
  }

 private:
  /// A tensor of the prefix' graph, or of the head's.
  struct Value {
    Tensor tensor;
    bool cached;
  };
  using Values = std::vector<Value>;

  void count_names(const LayerNode& node) {
    for (const auto& [attribute, layer] : node.sublayers()) {
      named_[layer.name()].insert(&layer.node());
      if (is_graph(layer.node())) count_names(layer.node());
    }
  }

  /// Layers of a model inside join those around it in one graph, where names are unique.
  bool can_enter(const GraphNode& node) const {
    if (!node.layer || !is_graph(node.layer.node()) || node.arguments) return false;
    const auto& inside = node.layer.node().sublayers();
    return std::all_of(inside.begin(), inside.end(),
                       [&](const auto& sublayer) { return named_.at(sublayer.second.name()).size() == 1; });
  }

  Values trace(LayerNode& model, const Values& inputs, const std::string& path) {
    if (typeid(model) == typeid(FunctionalNode))
      return trace_graph(static_cast<const FunctionalNode&>(model), inputs, path);
    const Tensor x = placeholder(inputs.at(0).tensor, "x");
    Tensor y = x;
    for (const Layer& layer : static_cast<const SequentialNode&>(model).layers()) y = layer(y);
    return trace_graph(FunctionalNode({x}, {y}), inputs, path);
  }

  Values trace_graph(const FunctionalNode& graph, const Values& inputs, const std::string& path) {
    if (!graph.placed_devices().empty())
      refuse("model " + in_quotes(model_.name()) + " has calls that were placed on devices");
    std::map<GraphPlace, Value> values;
    std::set<const GraphNode*> given;
    for (size_t i = 0; i < inputs.size(); ++i) {
      values.insert_or_assign(place_of(graph.inputs()[i]), inputs[i]);
      given.insert(place_of(graph.inputs()[i]).first);
    }
    for (const Node& node : graph.topology().nodes)
      if (!given.contains(node.get())) trace_node(*node, values, path);
    Values outputs;
    for (const Tensor& output : graph.outputs()) outputs.push_back(values.at(place_of(output)));
    return outputs;
  }

  void trace_node(const GraphNode& node, std::map<GraphPlace, Value>& values, const std::string& path) {
    if (has_masks(node)) refuse("model " + in_quotes(model_.name()) + " uses masks");
    Values inputs;
    bool cached = true;
    for (const Tensor& input : node.inputs) {
      inputs.push_back(symbolic(input) ? values.at(place_of(input)) : Value{input, true});
      cached = cached && inputs.back().cached;
    }
    if (cached) {
      const std::string why = reason_against(node);
      if (!why.empty() && can_enter(node)) {
        const Values results = trace(node.layer.node(), inputs, path + node.layer.name() + "/");
        for (size_t i = 0; i < results.size(); ++i) values.insert_or_assign(GraphPlace(&node, i), results[i]);
        return;
      }
      if (!why.empty() && first_reason_.empty()) first_reason_ = why;
      cached = why.empty();
    }
    copy(node, inputs, cached, values, path);
  }

  /// Why a call cannot be computed once, or nothing.
  std::string reason_against(const GraphNode& node) const {
    const auto input = std::find_if(node.inputs.begin(), node.inputs.end(),
                                    [](const Tensor& tensor) { return symbolic(tensor) != nullptr; });
    for (const Tensor& output : node.outputs)
      if (output.rank() == 0 || output.shape()[0] != input->shape()[0])
        return "the result of " + in_quotes(node.layer ? node.layer.name() : node.name) +
               " does not have the rows of the batch";
    if (!node.layer) return "";
    const std::string who = "layer " + in_quotes(node.layer.name()) + " (" + node.layer.class_name() + ") ";
    if (trains(node.layer.node(), compiled_)) return who + "trains";
    if (draws(node.layer.node())) return who + "draws random numbers";
    const std::string effect = side_effect(node);
    return effect.empty() ? "" : who + effect;
  }

  void copy(const GraphNode& node, const Values& inputs, bool cached, std::map<GraphPlace, Value>& values,
            const std::string& path) {
    const auto traced = std::make_shared<GraphNode>(node);
    traced->name = path + node.name;
    for (size_t i = 0; i < inputs.size(); ++i)
      if (symbolic(inputs[i].tensor)) traced->inputs[i] = cached ? inputs[i].tensor : in_head(inputs[i]);
    if (cached && node.layer) has_weights_ = has_weights_ || has_variables(node.layer.node());
    const Tensors outputs = symbolic_outputs(traced);
    for (size_t i = 0; i < outputs.size(); ++i)
      values.insert_or_assign(GraphPlace(&node, i), Value{outputs[i], cached});
  }

  /// In place of a feature the head has an input.
  Tensor in_head(const Value& value) {
    if (!value.cached) return value.tensor;
    for (const auto& [feature, input] : cut_)
      if (place_of(feature) == place_of(value.tensor)) return input;
    cut_.emplace_back(value.tensor, placeholder(value.tensor, "features_" + std::to_string(cut_.size())));
    return cut_.back().second;
  }

  void check_useful() const {
    if (!has_weights_)
      refuse("model " + in_quotes(model_.name()) + " has no frozen weights that could be computed once: " +
             first_reason_ + "; set_trainable(false) on what is to be frozen before compile()" +
             ", and keep what is random behind it");
  }

  static std::shared_ptr<ModelNode> part(const Tensors& inputs, const Tensors& outputs,
                                         const std::string& name) {
    const auto node = std::make_shared<FunctionalNode>(inputs, outputs);
    node->set_name(name);
    return node;
  }

  ModelNode& model_;
  const CompiledTraining& compiled_;
  std::map<std::string, std::set<const LayerNode*>> named_;
  std::vector<std::pair<Tensor, Tensor>> cut_;  // a tensor of the prefix, and the head's input for it
  std::string first_reason_;
  bool has_weights_ = false;
};

}  // namespace

FrozenSplit split_frozen(ModelNode& model, const CompiledTraining& compiled, const Tensors& x) {
  if (!is_graph(model))
    refuse("model " + in_quotes(model.name()) + " is a " + model.class_name() +
           " whose call is not known as a graph; expected a Sequential or functional model");
  const StrategyScope scope(model.strategy());
  return Splitter(model, compiled).split(x);
}

}  // namespace nyala
