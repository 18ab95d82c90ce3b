#include <nyala/api/model/model.h>

#include <algorithm>
#include <mutex>

#include <nyala/api/model/cut_graph.h>
#include <nyala/api/model/functional.h>
#include <nyala/api/model/sequential.h>
#include <nyala/backend/core/error.h>

namespace nyala {

using namespace nyala::detail;

namespace {

std::shared_ptr<LayerNode> make_functional(const ModelConfig& config) {
  const GraphEnds ends = cut_graph({config.inputs, config.outputs});
  const auto node = std::make_shared<FunctionalNode>(ends.inputs, ends.outputs);
  return finish_layer(node, {config.name, config.trainable});
}

ModelConfig with_tensors(ModelConfig config, const Tensors& inputs, const Tensors& outputs) {
  config.inputs = inputs;
  config.outputs = outputs;
  return config;
}

std::shared_ptr<LayerNode> checked_model(const Layer& layer) {
  if (dynamic_cast<ModelNode*>(&layer.node())) return layer.shared();
  throw InvalidArgumentError("Model: expected a model, received layer " + in_quotes(layer.name()) + " (" +
                             layer.class_name() + ")");
}

}  // namespace

Model::Model(Config config) : Layer(make_functional(config)) {}

Model::Model(const Tensor& input, const Tensor& output, Config config)
    : Model(Tensors{input}, Tensors{output}, std::move(config)) {}
Model::Model(const Tensor& input, const Tensors& outputs, Config config)
    : Model(Tensors{input}, outputs, std::move(config)) {}
Model::Model(const Tensors& inputs, const Tensor& output, Config config)
    : Model(inputs, Tensors{output}, std::move(config)) {}
Model::Model(const Tensors& inputs, const Tensors& outputs, Config config)
    : Model(with_tensors(std::move(config), inputs, outputs)) {}

Model::Model(const Layer& layer) : Layer(checked_model(layer)) {}

void Model::build(const Shapes& inputs) const {
  const StrategyScope scope(model_node().strategy());
  node().ensure_built(inputs);
}

std::vector<Layer> Model::layers() const {
  const std::lock_guard lock(model_node().building());
  return model_node().layers();
}

bool Model::compiled() const {
  const std::lock_guard lock(model_node().building());
  return model_node().training() != nullptr;
}

Layer Model::get_layer(const std::string& name) const {
  const std::lock_guard lock(model_node().building());
  std::vector<std::string> names;
  for (const Layer& layer : layers()) {
    if (layer.name() == name) return layer;
    names.push_back(layer.name());
  }
  // A part of a subclassed model by its attribute, as Keras has it as `model.decoder`.
  for (const auto& [attribute, layer] : node().sublayers()) {
    if (attribute == name) return layer;
    if (std::find(names.begin(), names.end(), attribute) == names.end()) names.push_back(attribute);
  }
  throw NotFoundError("model " + in_quotes(this->name()) + " has no layer " + in_quotes(name) +
                      did_you_mean(name, names) + "; there are " + quoted_list(names));
}

Layer Model::get_layer(int index) const {
  const std::vector<Layer> all = layers();
  const int position = index < 0 ? index + static_cast<int>(all.size()) : index;
  if (position < 0 || position >= static_cast<int>(all.size()))
    throw NotFoundError("model " + in_quotes(name()) + " has " + std::to_string(all.size()) +
                        " layers, there is no layer " + std::to_string(index));
  return all[static_cast<size_t>(position)];
}

Sequential::Sequential(const std::vector<Layer>& layers, Config config) {
  auto node = std::make_shared<SequentialNode>(layers);
  finish_layer(node, {config.name});
  node_ = node;
  if (node->input()) build(node->input_shapes());
}

}  // namespace nyala
