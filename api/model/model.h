#pragma once

#include <concepts>
#include <initializer_list>
#include <iosfwd>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <nyala/api/base/no_such_field.h>
#include <nyala/api/callbacks/base/history.h>
#include <nyala/api/layers/core/input.h>
#include <nyala/api/model/config/compile_config.h>
#include <nyala/api/model/config/fit_config.h>
#include <nyala/api/model/config/load_report.h>
#include <nyala/api/model/model_node.h>

namespace nyala {

struct ModelConfig {
  Tensors inputs = {};
  Tensors outputs = {};
  std::string name = {};
  bool trainable = true;
};

struct SummaryConfig {
  int line_length = 0;  // 0: Keras' width for the kind of model
  /// Where the columns end: parts of the line (the last one 1), or characters. Empty: Keras' for the kind of
  /// model.
  std::vector<double> positions = {};
  /// Names of the first and the last layer shown, or regular expressions for the beginning of their names.
  /// Empty: all.
  std::vector<std::string> layer_range = {};
  bool expand_nested = false;
  bool show_trainable = false;
  /// Takes the whole text at once; empty: standard output.
  std::function<void(const std::string&)> print_fn = {};
};

namespace detail {

/// A function that a class does not override is that of its base, also in its type. What cannot be named from
/// here is an override that is not public.
template <class Node>
constexpr bool overrides_train_step() {
  if constexpr (requires { &Node::train_step; })
    return !std::is_same_v<decltype(&Node::train_step), decltype(&ModelNode::train_step)>;
  else
    return true;
}
template <class Node>
constexpr bool overrides_compute_loss() {
  if constexpr (requires { &Node::compute_loss; })
    return !std::is_same_v<decltype(&Node::compute_loss), decltype(&ModelNode::compute_loss)>;
  else
    return true;
}

/// Tells a node what its class overrides.
template <class Node>
void note_overrides(Node& node) {
  node.set_overrides(
      {.train_step = overrides_train_step<Node>(), .compute_loss = overrides_compute_loss<Node>()});
}

template <class Node, class... Arguments>
std::shared_ptr<Node> make_model_node(Arguments&&... arguments) {
  auto node = make_node<Node>(std::forward<Arguments>(arguments)...);
  note_overrides(*node);
  return node;
}

/// A node that somebody made without make_model, as that makes it.
template <class Node>
std::shared_ptr<Node> as_made(std::shared_ptr<Node> node) {
  if (!node || !node->name().empty()) return node;
  node->has_hidden_arguments = !std::is_default_constructible_v<Node> && !overrides_fields<Node>();
  node->calls_many = overrides_call_of_many_only<Node>();
  note_overrides(*node);
  finish_layer(node, {});
  return node;
}

}  // namespace detail

/// A graph of layers that can be trained. A handle: copies name the same model, a function can return one.
/// Different models may be used from different threads; one model may predict from several threads at once,
/// while fit, evaluate, train_on_batch and everything else that writes excludes the rest and throws
/// StateError.
class Model : public Layer {
 public:
  using Config = ModelConfig;
  Model() = default;
  explicit Model(std::shared_ptr<ModelNode> node) : Layer(std::move(node)) {}
  /// `Model(std::make_shared<Net>())` is `make_model<Net>()`.
  template <std::derived_from<ModelNode> Node>
  explicit Model(std::shared_ptr<Node> node)
      : Model(std::shared_ptr<ModelNode>(detail::as_made(std::move(node)))) {}
  /// The graph between symbolic tensors, which may be those of other models: layers and weights are shared
  /// with them. An input that is not an Input's gets one of its own: the model begins there. Throws
  /// InvalidArgumentError where the tensors are not connected.
  Model(const Tensor& input, const Tensor& output, Config config = {});
  Model(const Tensor& input, const Tensors& outputs, Config config = {});
  Model(const Tensors& inputs, const Tensor& output, Config config = {});
  Model(const Tensors& inputs, const Tensors& outputs, Config config = {});
  explicit Model(Config config);
  /// The model that a layer of another model is: `Model encoder(net.get_layer("encoder"))`. Throws
  /// InvalidArgumentError for a layer that is none.
  explicit Model(const Layer& layer);

  /// Sets how the model is trained; a new optimizer state. Throws InvalidArgumentError for unknown names,
  /// StateError inside fit, evaluate, predict or a step of this model, as in a callback or loss; after an
  /// error the model is compiled as before.
  void compile(const CompileConfig& config = {}) const;

  History fit(const Tensor& x, const Tensor& y, const FitConfig& config = {}) const;
  History fit(const Tensors& x, const Tensors& y, const FitConfig& config = {}) const;
  History fit(const Arrays& arrays, const FitConfig& config = {}) const;
  History fit(const Dataset& batches, const FitConfig& config = {}) const;

  Logs evaluate(const Tensor& x, const Tensor& y, const EvaluateConfig& config = {}) const;
  Logs evaluate(const Tensors& x, const Tensors& y, const EvaluateConfig& config = {}) const;
  Logs evaluate(const Arrays& arrays, const EvaluateConfig& config = {}) const;
  Logs evaluate(const Dataset& batches, const EvaluateConfig& config = {}) const;

  /// The outputs for all rows, in order, on the host. Throws StateError for a model with several outputs.
  Tensor predict(const Tensor& x, const PredictConfig& config = {}) const;
  Tensor predict(const Dataset& batches, const PredictConfig& config = {}) const;
  /// Several inputs and one output: `predict({a, b})`.
  template <size_t N>
  Tensor predict(const Tensor (&x)[N], const PredictConfig& config = {}) const {
    return predict_one(Tensors(x, x + N), config);
  }
  template <std::same_as<Tensors> List>
  Tensor predict(const List& x, const PredictConfig& config = {}) const {
    return predict_one(x, config);
  }
  Tensors predict_all(const Tensors& x, const PredictConfig& config = {}) const;
  Tensors predict_all(const Dataset& batches, const PredictConfig& config = {}) const;

  /// One step. Returns loss and metrics of this batch alone.
  /// `class_weight` (class to weight, others 1) not together with `sample_weight`.
  Logs train_on_batch(const Tensor& x, const Tensor& y, const Tensor& sample_weight = {},
                      const ClassWeight& class_weight = {}) const;
  Logs train_on_batch(const Batch& batch) const;
  Logs test_on_batch(const Tensor& x, const Tensor& y, const Tensor& sample_weight = {}) const;
  Logs test_on_batch(const Batch& batch) const;
  /// The outputs for one batch; lists as those of predict.
  Tensor predict_on_batch(const Tensor& x) const { return predict_one_on_batch({x}); }
  template <size_t N>
  Tensor predict_on_batch(const Tensor (&x)[N]) const {
    return predict_one_on_batch(Tensors(x, x + N));
  }
  template <std::same_as<Tensors> List>
  Tensor predict_on_batch(const List& x) const {
    return predict_one_on_batch(x);
  }
  Tensors predict_all_on_batch(const Tensors& x) const;
  void reset_metrics() const;
  /// The metrics of the model's own, then those of compile(), whose results the logs hold.
  std::vector<Metric> metrics() const;

  /// Builds for inputs of these shapes (with the batch axis).
  void build(const Shape& input) const { build(Shapes{input}); }
  void build(const Shapes& inputs) const;

  std::vector<Layer> layers() const;
  /// By its name, else by the attribute that tracks it. Throws NotFoundError with the names there are.
  Layer get_layer(const std::string& name) const;
  Layer get_layer(int index) const;

  std::string summary_text(const SummaryConfig& config = {}) const;
  void summary(const SummaryConfig& config = {}) const;

  /// Throw StateError before compile.
  Optimizer optimizer() const;
  bool compiled() const;

  /// Ends fit after the running batch.
  void set_stop_training(bool stop) const { model_node().set_stop_training(stop); }
  bool stop_training() const { return model_node().stop_training(); }

  /// By the end of the path: Keras' `.weights.h5` (all weights, and the optimizer's state once it exists), or
  /// `.safetensors` and `.npz` (the weights by variable path). Written beside and renamed. Throws
  /// InvalidArgumentError for another path.
  void save_weights(const std::string& path) const;
  /// Reads the weights of any file that Keras 1 to 3 or Nyala wrote, a whole model's as well, of
  /// `.safetensors` and of `.npz` by variable path; what kind of file it is, its content says. Throws
  /// NotFoundError, FileFormatError or ShapeError naming the layer before anything is changed. Values are
  /// read from a large file one by one: where one is damaged (FileFormatError) or another program writes to
  /// the file meanwhile (IoError), those before it are loaded.
  LoadReport load_weights(const std::string& path, const LoadWeightsConfig& config = {}) const;

  /// Keras' `.keras`, or its legacy `.h5` by the end of the path: architecture, weights, what compile() was
  /// told and the optimizer's state. Of the logical model: no device, replica or strategy is in the file.
  /// Written beside and renamed. load_model opens it.
  void save(const std::string& path) const;
  /// The architecture as Keras' JSON, for model_from_json.
  std::string to_json() const;
  /// A new model from what get_config() of a functional or sequential one gave.
  static Model from_config(const std::string& config);

  /// Throws StateError for an empty handle.
  ModelNode& model_node() const {
    return static_cast<ModelNode&>(
        detail::held(node_, "Model", "make one: Sequential({...}) or Model(input, output)"));
  }

  /// Chosen where a field in braces does not exist or does not take its value.
  template <size_t N>
  void compile(const NoSuchField (&)[N]) const = delete;
  template <size_t N>
  History fit(const Tensor&, const Tensor&, const NoSuchField (&)[N]) const = delete;
  template <size_t N>
  History fit(const Tensors&, const Tensors&, const NoSuchField (&)[N]) const = delete;
  template <size_t N>
  History fit(const Arrays&, const NoSuchField (&)[N]) const = delete;
  template <size_t N>
  History fit(const Dataset&, const NoSuchField (&)[N]) const = delete;
  template <size_t N>
  Logs evaluate(const Tensor&, const Tensor&, const NoSuchField (&)[N]) const = delete;
  template <size_t N>
  Logs evaluate(const Tensors&, const Tensors&, const NoSuchField (&)[N]) const = delete;
  template <size_t N>
  Logs evaluate(const Arrays&, const NoSuchField (&)[N]) const = delete;
  template <size_t N>
  Logs evaluate(const Dataset&, const NoSuchField (&)[N]) const = delete;
  template <size_t N>
  Tensor predict(const Tensor&, const NoSuchField (&)[N]) const = delete;
  template <size_t N>
  Tensor predict(const Dataset&, const NoSuchField (&)[N]) const = delete;

 private:
  History fit_data(const DataArgument& data, const FitConfig& config) const;
  Tensor predict_one(const Tensors& x, const PredictConfig& config) const;
  Tensor predict_one_on_batch(const Tensors& x) const;
};

/// A model from a user's subclass of ModelNode: `auto net = make_model<Net>();`, or with a name
/// `make_model<Net>({.name = "net"}, arguments...)`.
template <class Node, class... Arguments>
Model make_model(Arguments&&... arguments) {
  const auto node = detail::make_model_node<Node>(std::forward<Arguments>(arguments)...);
  detail::finish_layer(node, {});
  return Model(node);
}
template <class Node, class... Arguments>
Model make_model(LayerOptions options, Arguments&&... arguments) {
  const auto node = detail::make_model_node<Node>(std::forward<Arguments>(arguments)...);
  detail::finish_layer(node, options);
  return Model(node);
}

struct SequentialConfig {
  std::string name = {};
};

/// A chain of layers: `Sequential({Input({28, 28}), Flatten(), Dense(10)})`.
class Sequential : public Model {
 public:
  using Config = SequentialConfig;
  explicit Sequential(const std::vector<Layer>& layers = {}, Config config = {});
  Sequential(std::initializer_list<Layer> layers, Config config = {})
      : Sequential(std::vector<Layer>(layers), std::move(config)) {}

  /// Throws InvalidArgumentError for a layer that holds this model, StateError while fit, predict or anything
  /// else runs on the model.
  void add(const Layer& layer) const;
  void pop() const;
};

}  // namespace nyala
