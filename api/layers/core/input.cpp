#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/core/input.h>

#include <nyala/api/graph/graph.h>
#include <nyala/backend/core/error.h>

namespace nyala {

using namespace nyala::detail;

namespace {

class InputNode final : public LayerNode {
 public:
  explicit InputNode(const InputConfig& config) : config_(config) {
    if (!config.shape.is_known() && config.shape.rank() == 0) throw ShapeError("Input: expected a shape");
    for (int axis = 0; axis < config.shape.rank(); ++axis)
      if (config.shape[axis] == 0)
        throw ShapeError("Input: expected sizes above 0, or None, received " + config.shape.to_string() +
                         " (a macro None, which X11's headers define, is 0: write kNone)");
    mark_built();
  }
  std::string class_name() const override { return "InputLayer"; }
  Tensor call(Call&, const Tensor& x) const override { return x; }

  const InputConfig& config() const { return config_; }
  Tensor tensor() {
    Tensor out = graph_node_->outputs[0];
    auto metadata = std::make_shared<SymbolicMetadata>(graph_node_, 0);
    metadata->input_layer = shared_from_this();
    out.set_metadata(std::move(metadata));
    return out;
  }
  void trace() {
    Shape shape{config_.batch_size};
    for (int64_t size : config_.shape) shape.append(size);
    graph_node_ = std::make_shared<GraphNode>();
    graph_node_->name = name();
    graph_node_->input_layer = shared_from_this();
    graph_node_->outputs = {Tensor::abstract(shape, parse_dtype(config_.dtype))};
  }

 private:
  InputConfig config_;
  std::shared_ptr<GraphNode> graph_node_;
};

const InputNode& as_input(const LayerNode& node) {
  const auto* input = dynamic_cast<const InputNode*>(&node);
  if (!input) throw StateError("layer " + in_quotes(node.name()) + " is not an Input");
  return *input;
}

}  // namespace

Input::Input(const Config& config) {
  enable_symbolic_ops();
  auto node = std::make_shared<InputNode>(config);
  const DType dtype = parse_dtype(config.dtype);
  finish_layer(node, {config.name, true, std::string(name_of(is_floating(dtype) ? dtype : DType::float32))});
  node_ = node;
  node->trace();
}

Tensor Input::tensor() const { return input_tensor(*node_); }

const InputConfig& detail::input_config(const LayerNode& node) { return as_input(node).config(); }

bool detail::is_input_layer(const LayerNode& node) {
  return dynamic_cast<const InputNode*>(&node) != nullptr;
}

Tensor detail::input_tensor(LayerNode& node) {
  as_input(node);
  return static_cast<InputNode&>(node).tensor();
}

}  // namespace nyala
