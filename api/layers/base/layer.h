#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <nyala/api/base/dtype_policy.h>
#include <nyala/api/base/fields.h>
#include <nyala/api/base/names.h>
#include <nyala/api/layers/base/builder.h>
#include <nyala/backend/core/held.h>
#include <nyala/backend/parameters/call.h>

namespace nyala {

struct LoraConfig;

class Fusable;
class Layer;
class LayerNode;
struct FusedCall;
struct GraphNode;
struct LayerOptions;

namespace detail {

/// Makes a node with its name, trainable flag and dtype policy set.
std::shared_ptr<LayerNode> finish_layer(std::shared_ptr<LayerNode> node, const LayerOptions& options);

}  // namespace detail

/// The tensors that a layer is called with, and those it returns.
using Inputs = std::span<const Tensor>;
using Outputs = Tensors;

/// What a call of a layer is told besides its tensors.
struct LayerCall {
  /// Keras' argument `mask`, true where a step counts: of (batch, time), or what the layer says (Softmax).
  /// Comes before the mask that the tensor carries.
  Tensor mask = {};
};

/// A regularizer with the variable it belongs to.
struct RegularizedWeight {
  Variable variable;
  Regularizer regularizer;
};

/// What a Layer handle shares: configuration, weights and the computation. Derive to write a layer:
/// `build` makes the weights for the shapes of the inputs, `call` computes. A node is constant after build
/// and serves all replicas at once; everything that changes goes through Call.
class LayerNode : public std::enable_shared_from_this<LayerNode> {
 public:
  /// `name` empty: Keras' automatic name, "dense_1".
  LayerNode() = default;
  virtual ~LayerNode() = default;

  /// Keras' class name, "Conv2D".
  virtual std::string class_name() const = 0;
  /// The configuration's fields besides name, trainable and dtype. A class with a `Config` shows that one's:
  /// `void fields(FieldVisitor& v) override { config_.fields(v); }`.
  virtual void fields(FieldVisitor&) {}
  /// Set where the layer was made with arguments that fields() does not show: no whole-model file can hold
  /// it.
  bool has_hidden_arguments = false;
  /// Set by make_layer and make_model where the class overrides the form of `call` for many tensors only.
  bool calls_many = false;

  // Of two forms of one name a class overrides the one that fits it; the other needs no `using`.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverloaded-virtual"
  /// Makes the weights. Shapes may hold None. The default forwards to the one-tensor form.
  virtual void build(Builder& builder, const Shapes& inputs) { build(builder, inputs.at(0)); }
  virtual void build(Builder&, const Shape&) {}

  /// Computes. Layers of one input and one output override the second form, others the first: the form that
  /// a class overrides decides which one is used.
  virtual Outputs call(Call& c, Inputs inputs) const;
  virtual Tensor call(Call& c, const Tensor& input) const;
#pragma GCC diagnostic pop
  /// True if the first form of `call` is the one to use. To override where a class has both, or is made
  /// without make_layer and make_model.
  virtual bool takes_many() const { return calls_many; }
  /// True if Keras gives each tensor an argument of its own, as attention layers have them
  /// (attention_tensors); all others of several tensors take a list.
  virtual bool takes_named_tensors() const { return false; }
  /// What the graph asks in order to compute this layer and its neighbours in one pass
  /// (api/layers/base/fusable.h); null: it stands alone.
  virtual const Fusable* fusable() const { return nullptr; }
  /// True if the mask of the input is also that of each output (see compute_mask). As in Keras a layer that
  /// says nothing loses masks.
  virtual bool supports_masking() const { return false; }
  /// True if call() looks at the masks of its inputs (mask_of, api/layers/base/mask.h): Keras' argument
  /// `mask`.
  virtual bool uses_mask() const { return false; }
  /// True if outputs get masks even where no input has one.
  virtual bool makes_mask() const { return false; }
  /// True if the call takes the masks off its query, value and key, as Keras' MultiHeadAttention does: calls
  /// behind it see them without.
  virtual bool strips_masks() const { return false; }
  /// The masks of `num_outputs` outputs, undefined where there is none, for inputs that carry theirs; perhaps
  /// symbolic. Asked only where an input has a mask or makes_mask(); an output that call() gave one keeps it.
  virtual Tensors compute_mask(Inputs inputs, size_t num_outputs) const;

  /// Keras' attribute: whether floating inputs, and variables where call() reads them, come in the compute
  /// dtype. A layer that casts by itself, as LayerNormalization does, gets both as they are.
  virtual bool autocast() const { return true; }
  /// False where only inputs come as they are: a model converts each to the dtype of its Input.
  virtual bool converts_inputs() const { return autocast(); }

  /// The key of this layer's random draws, or null for a layer that draws none; saved with checkpoints. See
  /// SeededNode, the base of layers that draw.
  virtual uint64_t* random_key() { return nullptr; }

  /// Layers that this one holds, by the attribute name under which files know them.
  const std::vector<std::pair<std::string, Layer>>& sublayers() const { return sublayers_; }

  const std::string& name() const { return name_; }
  void set_name(const std::string& name) { name_ = name; }
  /// "sequential/dense" while building inside a model.
  const std::string& path() const { return path_; }
  bool built() const { return built_; }
  /// The shapes of the inputs that it was built for, with None for the batch; none where it was made built.
  const Shapes& built_for() const { return built_for_; }
  bool trainable() const { return trainable_; }
  /// Sets the flag on this layer, its variables and its sublayers.
  virtual void set_trainable(bool trainable);
  DTypePolicy dtype_policy() const { return policy_; }
  /// For another policy than the one that the layer was made with. Throws StateError where the layer is built
  /// or was called, since its weights and graphs have the old one's dtypes.
  virtual void set_dtype_policy(DTypePolicy policy);
  /// That of floating inputs, of variables that call() reads and of what it returns.
  DType compute_dtype() const { return policy_.compute_dtype(); }
  /// That of the weights, and Keras' other name for it.
  DType variable_dtype() const { return policy_.variable_dtype(); }
  DType dtype() const { return variable_dtype(); }

  /// Shapes of the outputs of the last call on abstract tensors, as summary() shows them.
  const Shapes& output_shapes() const { return output_shapes_; }

  /// The calls that drew a graph, in order, as long as a model or a tensor behind them exists.
  std::vector<std::shared_ptr<const GraphNode>> calls() const;
  void add_call(const std::shared_ptr<const GraphNode>& call) const;

  /// Own variables in creation order, trainable when made and not.
  const Variables& own_weights() const { return weights_; }
  const Variables& own_state() const { return state_; }
  /// Own state that is among no weights and in no file: that of stateful recurrent layers.
  const Variables& own_hidden_state() const { return hidden_; }
  const std::vector<RegularizedWeight>& regularized() const { return regularized_; }

  /// Numbers the passes out of training that begin with this node, from 1. Thread-safe.
  uint64_t next_pass() const { return ++passes_; }
  std::atomic<uint64_t>& passes() const { return passes_; }

  /// Builds once for these input shapes. Throws ShapeError naming the layer.
  void ensure_built(const Shapes& inputs);

  /// Runs call() with errors that name the layer, in the dtypes that autocast() says.
  Tensor invoke(Call& c, const Tensor& input) const;
  Outputs invoke(Call& c, Inputs inputs) const;
  /// The same for the call_fused() of its fusable().
  Tensor invoke(Call& c, const Tensor& input, const FusedCall& fused) const;

 protected:
  friend class Builder;
  friend class Lora;
  friend std::shared_ptr<LayerNode> detail::finish_layer(std::shared_ptr<LayerNode>, const LayerOptions&);
  /// Makes `layer` a part of this one, known as `attribute` in files. A layer with weights that a layer calls
  /// without holding it, itself or in one that it holds, is an error when the caller is built.
  template <class L>
  L track(std::string attribute, L layer) {
    add_sublayer(std::move(attribute), layer);
    return layer;
  }
  void add_sublayer(std::string attribute, const Layer& layer);
  /// `Variable gain = track("gain", Variable(1.0));` makes a variable one of the layer's weights, or of its
  /// state where it is not trainable, in front of what build() makes. `attribute` is its name where it has
  /// none.
  Variable track(const std::string& attribute, const Variable& variable);
  void mark_built() { built_ = true; }

  std::string name_;
  std::string path_;
  bool built_ = false;
  Shapes built_for_;
  bool trainable_ = true;
  DTypePolicy policy_;
  mutable Shapes output_shapes_;  // written only while a graph is traced or a layer is built
  mutable std::vector<std::weak_ptr<const GraphNode>> calls_;  // likewise; a call holds its layer
  Variables weights_, state_, hidden_;
  std::vector<RegularizedWeight> regularized_;
  std::vector<std::pair<std::string, Layer>> sublayers_;
  mutable std::atomic<uint64_t> passes_{0};
};

/// A handle on a layer; copies name the same layer. Calling it on a symbolic tensor traces a graph. On a
/// concrete one it computes: inside another layer's call() and in a step of a model (train_step) it follows
/// that one, as `layer(c, x)` does; elsewhere in inference mode. All members of an empty handle throw
/// StateError, but for `bool`, shared() and ==.
class Layer {
 public:
  Layer() = default;
  explicit Layer(std::shared_ptr<LayerNode> node);

  Tensor operator()(const Tensor& input) const;
  Tensor operator()(const std::vector<Tensor>& inputs) const;
  Tensor operator()(std::initializer_list<Tensor> inputs) const {
    return (*this)(std::vector<Tensor>(inputs));
  }
  /// `lstm(x, {.mask = mask})`, `lstm({x, h, c}, {.mask = mask})`: the mask is that of the first tensor, and
  /// symbolic where the tensors are. Throws InvalidArgumentError for a layer that looks at no mask.
  Tensor operator()(const Tensor& input, const LayerCall& call) const;
  Tensor operator()(const std::vector<Tensor>& inputs, const LayerCall& call) const;
  template <size_t N>
  Tensor operator()(const Tensor&, const NoSuchField (&)[N]) const = delete;
  /// All outputs of a layer that has several.
  Outputs call_all(const std::vector<Tensor>& inputs) const;
  Outputs call_all(const std::vector<Tensor>& inputs, const LayerCall& call) const;
  /// Inside another layer's call(). While that layer is being built, its inputs are abstract tensors and this
  /// one is built for them too.
  Tensor operator()(Call& c, const Tensor& input) const;
  Tensor operator()(Call& c, const Tensor& input, const LayerCall& call) const;
  Outputs operator()(Call& c, Inputs inputs) const;

  explicit operator bool() const { return node_ != nullptr; }
  const std::string& name() const { return node().name(); }
  std::string class_name() const { return node().class_name(); }
  bool built() const { return node().built(); }
  /// Adapts a built Dense, EinsumDense, Embedding or convolution by a product of two small factors, which are
  /// trained instead of its kernel (api/layers/base/lora.h). Compile the model afterwards. Throws
  /// InvalidArgumentError for another layer, a rank below 1 or a kernel with a constraint, StateError for one
  /// that is not built or that is adapted already.
  void enable_lora(int64_t rank) const;
  void enable_lora(int64_t rank, const LoraConfig& config) const;
  bool trainable() const { return node().trainable(); }
  void set_trainable(bool trainable) const { node().set_trainable(trainable); }

  /// In which dtypes the layer computes and keeps its weights; see LayerNode.
  DTypePolicy dtype_policy() const { return node().dtype_policy(); }
  void set_dtype_policy(DTypePolicy policy) const { node().set_dtype_policy(policy); }
  DType compute_dtype() const { return node().compute_dtype(); }
  DType variable_dtype() const { return node().variable_dtype(); }
  DType dtype() const { return node().dtype(); }

  /// Keras' order: layer by layer, in each its weights before its state.
  Variables weights() const;
  /// Those that train; none of a layer whose flag is false, whatever is thawed inside it (as in Keras).
  Variables trainable_weights() const;
  Variables non_trainable_weights() const;
  /// Keras' other names for the same: `variable.path()` names one, `get_weights()` gives the values. Metrics
  /// hold no variables, and seeds are none.
  Variables variables() const { return weights(); }
  /// State that is among no weights, in no file and in no summary: what stateful recurrent layers keep from
  /// batch to batch.
  Variables hidden_state() const;
  Variables trainable_variables() const { return trainable_weights(); }
  Variables non_trainable_variables() const { return non_trainable_weights(); }
  /// Values of weights() on the host, copied.
  Tensors get_weights() const;
  /// Throws ShapeError naming count or weight; nothing is written then.
  void set_weights(const Tensors& values) const;
  int64_t count_params() const;

  /// The symbolic tensors between which the layer stands, to go on from there or to cut a model:
  /// `Model(base.input(), base.get_layer("block_6_expand").output())`. Those of the first call, or of call
  /// `call`; of a model without `call` its own. Calls count whose tensor or model still exists. Throw
  /// StateError for a layer without such a call, and for several tensors where one is asked for.
  Tensor input(std::optional<int> call = {}) const;
  Tensor output(std::optional<int> call = {}) const;
  Tensors inputs(std::optional<int> call = {}) const;
  Tensors outputs(std::optional<int> call = {}) const;

  /// Their shapes, None for the batch; of a layer that is in no graph those that it was built for. Throw
  /// StateError where it is not built, and for several shapes where one is asked for.
  Shape input_shape() const;
  Shape output_shape() const;
  Shapes input_shapes() const;
  Shapes output_shapes() const;

  /// The shapes of what comes out for inputs of these shapes, which may hold None. A layer that is not built
  /// is built for them.
  Shape compute_output_shape(const Shape& input) const;
  Shapes compute_output_shapes(const Shapes& inputs) const;

  /// The penalties of the regularized weights as they are now, with those of the layers inside; followed by a
  /// recording GradientTape.
  Tensors losses() const;

  /// Keras' get_config() as JSON: what from_config() makes the same layer of, without its weights.
  std::string get_config() const;
  /// A new layer of a class of Nyala's, or of a registered one, from its configuration as JSON; for a model
  /// built as it says. Throws FileFormatError naming what does not fit.
  static Layer from_config(const std::string& class_name, const std::string& config);

  /// Throws StateError for an empty handle.
  LayerNode& node() const {
    return detail::held(node_, "Layer", "make one, as in Dense(10), or a model of layers");
  }
  const std::shared_ptr<LayerNode>& shared() const { return node_; }
  friend bool operator==(const Layer& a, const Layer& b) { return a.node_ == b.node_; }

 protected:
  std::shared_ptr<LayerNode> node_;
};

/// Fields that every layer's Config ends with. Empty name: automatic. `dtype` names a DTypePolicy; empty: the
/// one that set_dtype_policy() set, at first float32.
struct LayerOptions {
  std::string name = {};
  bool trainable = true;
  std::string dtype = {};
};

namespace detail {

/// A function that a class does not override is that of its base, also in its type. What cannot be named from
/// here is an override that is not public.
template <class Node, class Base = LayerNode>
constexpr bool overrides_fields() {
  if constexpr (requires { &Node::fields; })
    return !std::is_same_v<decltype(&Node::fields), decltype(&Base::fields)>;
  else
    return true;
}

/// The class that declares a form of call(), from a pointer to that.
template <class Node>
Node* declares_many(Outputs (Node::*)(Call&, Inputs) const);
template <class Node>
Node* declares_one(Tensor (Node::*)(Call&, const Tensor&) const);

/// Whether a class overrides call() for many tensors only.
template <class Node>
constexpr bool overrides_call_of_many_only() {
  constexpr bool many = requires {
    requires !std::is_same_v<decltype(declares_many(&Node::call)), LayerNode*>;
  };
  constexpr bool one = requires {
    requires !std::is_same_v<decltype(declares_one(&Node::call)), LayerNode*>;
  };
  return many && !one;
}

/// A user's node; says where files would lose its arguments.
template <class Node, class... Arguments>
std::shared_ptr<Node> make_node(Arguments&&... arguments) {
  if constexpr (std::is_abstract_v<Node>) {
    static_assert(!std::is_abstract_v<Node>,
                  "a layer overrides class_name(), the name that summary() and files show: "
                  "std::string class_name() const override { return \"MyLayer\"; }");
    return nullptr;
  } else {
    auto node = std::make_shared<Node>(std::forward<Arguments>(arguments)...);
    node->has_hidden_arguments = sizeof...(Arguments) > 0 && !overrides_fields<Node>();
    node->calls_many = overrides_call_of_many_only<Node>();
    return node;
  }
}

}  // namespace detail

/// A handle on a user's layer: `make_layer<MyLayer>(arguments...)`.
template <class Node, class... Arguments>
Layer make_layer(Arguments&&... arguments) {
  return Layer(detail::finish_layer(detail::make_node<Node>(std::forward<Arguments>(arguments)...), {}));
}

/// The same with a name: `make_layer<MyLayer>({.name = "mine"}, arguments...)`. A list in braces that comes
/// first is always this one; what the constructor takes has its type's name: `MyLayerConfig{.units = 3}`.
template <class Node, class... Arguments>
Layer make_layer(LayerOptions options, Arguments&&... arguments) {
  return Layer(detail::finish_layer(detail::make_node<Node>(std::forward<Arguments>(arguments)...), options));
}

}  // namespace nyala
