// A call comes by one of three ways: on symbolic tensors it is traced (a hook of the graph's room), inside a
// call or step that runs it joins that one's Call and tape, else it is a call of its own, whose writes are
// applied at its end. Every way goes through invoke(): the layer's dtype, the formula, masks, and the layer's
// name in front of errors. A build that throws leaves the layer as it was, so that it may be tried again.
#include <nyala/api/layers/base/layer.h>

#include <atomic>

#include <nyala/api/layers/base/call_arguments.h>
#include <nyala/api/layers/base/fusable.h>
#include <nyala/api/layers/base/keep_output_shapes.h>
#include <nyala/api/layers/base/layer_autocast.h>
#include <nyala/api/layers/base/mask.h>
#include <nyala/api/layers/base/takes_whole_numbers.h>
#include <nyala/api/layers/base/trace_hook.h>
#include <nyala/backend/core/c_locale_text.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/core/mutex.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/parameters/awaited_variable.h>
#include <nyala/backend/parameters/variable_changes.h>
#include <nyala/backend/runtime/collectives.h>
#include <nyala/backend/runtime/context.h>
#include <nyala/backend/runtime/stack_room.h>

namespace nyala {

using namespace nyala::detail;

Outputs LayerNode::call(Call& c, Inputs inputs) const {
  if (inputs.size() != 1)
    throw InvalidArgumentError("expected one input tensor, received " + std::to_string(inputs.size()));
  return {call(c, inputs[0])};
}

Tensor LayerNode::call(Call&, const Tensor&) const {
  throw InternalError("class " + class_name() + " overrides neither form of call()");
}

Tensors LayerNode::compute_mask(Inputs inputs, size_t num_outputs) const {
  Tensors masks(num_outputs);
  if (!supports_masking()) return masks;
  for (size_t i = 0; i < num_outputs; ++i) masks[i] = mask_of(inputs[inputs.size() == num_outputs ? i : 0]);
  return masks;
}

void LayerNode::set_trainable(bool trainable) {
  trainable_ = trainable;
  for (Variable& weight : weights_) weight.set_trainable(trainable);
  for (auto& [attribute, layer] : sublayers_) layer.set_trainable(trainable);
}

namespace {

/// Policies of whole numbers are for layers that make them.
void check_takes(const LayerNode& node, DTypePolicy policy) {
  if (!is_floating(policy.compute_dtype()) && !dynamic_cast<const TakesWholeNumbers*>(&node))
    throw InvalidArgumentError("expected a dtype policy of floats, received " + in_quotes(policy.name()));
}

}  // namespace

void LayerNode::set_dtype_policy(DTypePolicy policy) {
  if (policy == policy_) return;
  check_takes(*this, policy);
  if (built_ || !calls().empty())
    throw StateError("layer " + in_quotes(name()) + " (" + class_name() + "): expected the dtype policy " +
                     in_quotes(policy_.name()) + ", in which it was built or called, received " +
                     in_quotes(policy.name()) + "; set it before, or make the layer with .dtype = \"" +
                     policy.name() + "\"");
  policy_ = policy;
}

Variable LayerNode::track(const std::string& attribute, const Variable& variable) {
  VariableNode& node = variable.node();
  node.loose = false;
  if (node.spec.name == "variable") node.spec.name = node.spec.path = attribute;
  (variable.trainable() ? weights_ : state_).push_back(variable);
  return variable;
}

namespace {

std::string place(const LayerNode& node) {
  return "layer " + in_quotes(node.name()) + " (" + node.class_name() + "): ";
}

/// Layers are mostly called in the order in which they are held, and looked for when built and when called:
/// each search begins with the last find.
bool holds_directly(const LayerNode& owner, const LayerNode& node) {
  static thread_local size_t t_last = 0;
  const auto& held = owner.sublayers();
  for (size_t i = 0; i < held.size(); ++i) {
    const size_t place = (t_last + i) % held.size();
    if (&held[place].second.node() != &node) continue;
    t_last = place;
    return true;
  }
  return false;
}

bool holds(const LayerNode& owner, const LayerNode& node) {
  if (holds_directly(owner, node)) return true;
  for (const auto& [attribute, layer] : owner.sublayers())
    if (holds(layer.node(), node)) return true;
  return false;
}

bool has_weights(const LayerNode& node) {
  if (!node.own_weights().empty() || !node.own_state().empty()) return true;
  for (const auto& [attribute, layer] : node.sublayers())
    if (has_weights(layer.node())) return true;
  return false;
}

/// Of a built layer that is called where `running` runs. A frozen one may stay outside, like a teacher's.
void check_tracked(const RunningCall* running, const LayerNode& node) {
  if (!running || !running->layer || !node.trainable() || !has_weights(node)) return;
  for (const RunningCall* caller = running; caller; caller = caller->outer)
    if (caller->layer && (caller->layer == &node || holds(*caller->layer, node))) return;
  const std::string type = node.class_name();
  const std::string who =
      running->is_step ? place(*running->layer) : "";  // a layer's errors are given its name
  throw StateError(who + "calls layer " + in_quotes(node.name()) + " (" + type +
                   "), which has weights, but does not hold it: it would neither be trained nor saved. Write "
                   "the member as `" +
                   type + " d = track(\"d\", " + type +
                   "(...));`; a layer that is not to be trained needs set_trainable(false)");
}

/// Every call while a layer is built, and those that a training step makes by itself.
void check_tracked(const LayerNode& node, bool at_build) {
  const RunningCall* const running = thread_context().running;
  if (!running || !(at_build || (running->is_step && running->call->training()))) return;
  check_tracked(running, node);
}

}  // namespace

namespace {

/// Layers that are held twice are walked over twice.
constexpr size_t kMostPlaces = size_t{1} << 20;

/// Whether `owner` holds `node`; looks at no more than `left` places, which it counts down.
bool holds_within(const LayerNode& owner, const LayerNode& node, size_t& left) {
  for (const auto& [attribute, layer] : owner.sublayers()) {
    if (&layer.node() == &node) return true;
    if (left == 0 || --left == 0) return false;
    if (holds_within(layer.node(), node, left)) return true;
  }
  return false;
}

}  // namespace

// Whatever walks over sublayers would never come back from one that holds its holder.
void LayerNode::add_sublayer(std::string attribute, const Layer& layer) {
  size_t places = kMostPlaces;
  const bool held = &layer.node() == this || holds_within(layer.node(), *this, places);
  if (places == 0)
    throw InvalidArgumentError("layer " + in_quotes(name()) + " cannot hold " + in_quotes(layer.name()) +
                               ", which holds layers at " + std::to_string(kMostPlaces) +
                               " or more places: shared layers count once for each place");
  if (held)
    throw InvalidArgumentError(
        "layer " + in_quotes(name()) + " cannot hold " +
        (&layer.node() == this ? "itself" : in_quotes(layer.name()) + ", which holds it") +
        ": a model is no part of itself; to use its weights twice, call it twice");
  sublayers_.emplace_back(std::move(attribute), layer);
  note_variable_change();
}

void LayerNode::ensure_built(const Shapes& inputs) {
  if (built_) return;
  check_stack_room();
  const LayerNode*& outer = thread_context().building;
  path_ = outer ? outer->path() + "/" + name_ : name_;
  const ScopedValue<const LayerNode*> inner(outer, this);
  const RunningCall building{.layer = this, .outer = thread_context().running};
  const ScopedValue<const RunningCall*> running(thread_context().running, &building);
  const size_t num_weights = weights_.size(), num_state = state_.size();  // those of track()
  const auto num_sublayers = static_cast<std::ptrdiff_t>(sublayers_.size());
  for (const Variables* tracked : {&weights_, &state_})
    for (const Variable& variable : *tracked) variable.node().spec.path = path_ + "/" + variable.name();
  Builder builder(*this, thread_context().weight_source);
  try {
    build(builder, inputs);
    built_for_ = inputs;
  } catch (...) {
    weights_.resize(num_weights);
    state_.resize(num_state);
    hidden_.clear();
    sublayers_.erase(sublayers_.begin() + num_sublayers, sublayers_.end());
    rethrow_with_prefix(place(*this));
  }
  built_ = true;
  note_variable_change();
  for (Shape& shape : built_for_)
    if (shape.rank() > 0) shape = shape.with(0, None);
  if (!trainable_) set_trainable(false);
  check_tracked(building.outer, *this);
}

namespace {

Shapes shapes_of(Inputs inputs) {
  Shapes shapes;
  for (const Tensor& input : inputs) shapes.push_back(input.shape());
  return shapes;
}

/// Keras' autocast: floating inputs take the layer's compute dtype. Masks and arguments travel with them.
Tensor in_compute_dtype(const LayerNode& layer, const Tensor& input) {
  const DType dtype = layer.compute_dtype();
  const bool casts = is_floating(input.dtype()) && input.dtype() != dtype && layer.converts_inputs();
  return casts ? cast_with_metadata(input, dtype) : input;
}

/// Gives outputs their masks.
void pass_masks(const LayerNode& node, Inputs inputs, std::span<Tensor> outputs) {
  bool masked = node.makes_mask(), missing = false;
  for (const Tensor& input : inputs) masked = masked || (input.metadata() && mask_of(input).defined());
  if (!masked) return;
  for (const Tensor& output : outputs) missing = missing || !mask_of(output).defined();
  if (!missing) return;
  const Tensors masks = node.compute_mask(inputs, outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i)
    if (masks[i].defined() && !mask_of(outputs[i]).defined()) outputs[i] = with_mask(outputs[i], masks[i]);
}

}  // namespace

namespace {

/// Layers ask others for shapes while they run, too (an empty TimeDistributed), on several replicas at once.
void keep_shapes(Shapes& kept, Shapes shapes) {
  static Mutex& mutex = *new Mutex(Mutex::AtFork::is_waited);
  const std::lock_guard lock(mutex);
  if (kept != shapes) kept = std::move(shapes);
}

}  // namespace

Tensor LayerNode::invoke(Call& c, const Tensor& input) const {
  check_stack_room();
  const RunningCall own{.call = &c, .layer = this, .outer = thread_context().running};
  const ScopedValue<const RunningCall*> running(thread_context().running, &own);
  const LayerAutocast autocast(c, *this);
  try {
    if (!built_) throw StateError("the layer is not built; call it on a tensor first or use track()");
    const Tensor converted = in_compute_dtype(*this, input);
    Tensor output;
    if (takes_many()) {
      Outputs outputs = call(c, Inputs(&converted, 1));
      if (outputs.size() != 1) throw StateError("the layer has several outputs; use call_all()");
      output = std::move(outputs[0]);
    } else {
      output = call(c, converted);
    }
    pass_masks(*this, Inputs(&converted, 1), std::span(&output, 1));
    if (output.is_abstract() && !thread_context().keeps_output_shapes)
      keep_shapes(output_shapes_, {output.shape()});
    return output;
  } catch (const Error&) {
    rethrow_with_prefix(place(*this));
  }
}

Tensor LayerNode::invoke(Call& c, const Tensor& input, const FusedCall& fused) const {
  check_stack_room();
  const RunningCall own{.call = &c, .layer = this, .outer = thread_context().running};
  const ScopedValue<const RunningCall*> running(thread_context().running, &own);
  const LayerAutocast autocast(c, *this);
  try {
    const Tensor converted = in_compute_dtype(*this, input);
    Tensor output = fusable()->call_fused(c, converted, fused);
    pass_masks(*this, Inputs(&converted, 1), std::span(&output, 1));
    return output;
  } catch (const Error&) {
    rethrow_with_prefix(place(*this));
  }
}

Outputs LayerNode::invoke(Call& c, Inputs inputs) const {
  check_stack_room();
  const RunningCall own{.call = &c, .layer = this, .outer = thread_context().running};
  const ScopedValue<const RunningCall*> running(thread_context().running, &own);
  const LayerAutocast autocast(c, *this);
  try {
    if (!built_) throw StateError("the layer is not built; call it on a tensor first or use track()");
    Tensors converted(inputs.begin(), inputs.end());
    for (Tensor& input : converted) input = in_compute_dtype(*this, input);
    Outputs outputs = call(c, Inputs(converted));
    pass_masks(*this, Inputs(converted), outputs);
    if (!outputs.empty() && outputs[0].is_abstract() && !thread_context().keeps_output_shapes)
      keep_shapes(output_shapes_, shapes_of(outputs));
    return outputs;
  } catch (const Error&) {
    rethrow_with_prefix(place(*this));
  }
}

namespace {

std::atomic<TraceHook> trace_hook{nullptr};

}  // namespace

void detail::set_trace_hook(TraceHook hook) { trace_hook = hook; }

Tensors detail::traced_call(const Layer& layer, const Tensors& inputs) {
  return trace_hook.load()(layer, inputs);
}

Layer::Layer(std::shared_ptr<LayerNode> node) : node_(std::move(node)) {}

Tensor Layer::operator()(const Tensor& input) const {
  Outputs outputs = call_all({input});
  if (outputs.size() != 1)
    throw StateError(place(node()) + "has " + std::to_string(outputs.size()) + " outputs; use call_all()");
  return std::move(outputs[0]);
}

Tensor Layer::operator()(const std::vector<Tensor>& inputs) const {
  Outputs outputs = call_all(inputs);
  if (outputs.size() != 1)
    throw StateError(place(node()) + "has " + std::to_string(outputs.size()) + " outputs; use call_all()");
  return std::move(outputs[0]);
}

Tensor Layer::operator()(Call& c, const Tensor& input) const {
  if (!node().built() && input.is_abstract()) node().ensure_built({input.shape()});
  check_tracked(node(), input.is_abstract());
  return node().invoke(c, input);
}

Outputs Layer::operator()(Call& c, Inputs inputs) const {
  if (!node().built() && !inputs.empty() && inputs[0].is_abstract()) node().ensure_built(shapes_of(inputs));
  check_tracked(node(), !inputs.empty() && inputs[0].is_abstract());
  return node().invoke(c, inputs);
}

namespace {

Outputs invoked(const LayerNode& node, Call& c, const std::vector<Tensor>& inputs) {
  if (node.takes_many() || inputs.size() > 1) return node.invoke(c, Inputs(inputs));
  return {node.invoke(c, inputs[0])};
}

/// The call that runs, on the tape that records now.
Outputs invoked_inside(const RunningCall& running, const LayerNode& node, const std::vector<Tensor>& inputs) {
  Call& c = *running.call;
  Tape* const outer = c.tape();
  if (thread_context().tape || running.is_step) c.set_tape(thread_context().tape);
  try {
    Outputs outputs = invoked(node, c, inputs);
    c.set_tape(outer);
    return outputs;
  } catch (...) {
    c.set_tape(outer);
    throw;
  }
}

}  // namespace

Outputs Layer::call_all(const std::vector<Tensor>& inputs) const {
  if (inputs.empty()) throw InvalidArgumentError(place(node()) + "was called without a tensor");
  for (const Tensor& input : inputs) {
    if (!input.defined())
      throw StateError(place(node()) + "expected a tensor, received an empty one, which was never made");
    if (is_symbolic(input)) return traced_call(*this, inputs);
  }
  const Shapes shapes = shapes_of(inputs);
  node().ensure_built(shapes);
  check_tracked(node(), inputs[0].is_abstract());
  if (const RunningCall* running = thread_context().running; running && running->call)
    return invoked_inside(*running, node(), inputs);
  if (any_is_awaited() && !inputs[0].is_abstract()) check_known(weights());
  Collectives* const replica = thread_context().replica;
  Call call({.tape = thread_context().tape,
             .replica = replica,
             .local_index = replica ? replica->local_index() : 0,
             .rows = shapes[0].empty() ? 0 : shapes[0][0],
             .global_rows = shapes[0].empty() ? 0 : shapes[0][0],
             .step = {},
             .passes = &node().passes()});
  Outputs outputs = invoked(node(), call, inputs);
  if (!replica)  // state of layers that keep one from call to call; replicas have no common end of a step
                 // here
    for (const auto& [variable, value] : call.assignments()) variable.assign(value);
  return outputs;
}

namespace {

enum class Part { trainable, rest, all, hidden };

void collect(const LayerNode& node, Part part, Variables& out) {
  const auto add = [&out](const Variables& variables) {
    out.insert(out.end(), variables.begin(), variables.end());
  };
  if (part == Part::hidden) {
    add(node.own_hidden_state());
  } else {
    for (const Variable& weight : node.own_weights())
      if (part == Part::all || weight.trainable() == (part == Part::trainable)) out.push_back(weight);
    if (part != Part::trainable) add(node.own_state());
  }
  for (const auto& [attribute, layer] : node.sublayers()) collect(layer.node(), part, out);
}

/// A layer that is held twice counts once.
Variables unique_variables(const Variables& variables) {
  Variables out;
  std::map<const VariableNode*, bool> seen;
  for (const Variable& variable : variables)
    if (!std::exchange(seen[&variable.node()], true)) out.push_back(variable);
  return out;
}

}  // namespace

Variables Layer::trainable_weights() const {
  Variables out;
  if (!trainable()) return out;
  collect(node(), Part::trainable, out);
  return unique_variables(out);
}

Variables Layer::non_trainable_weights() const {
  if (!trainable()) return weights();
  Variables out;
  collect(node(), Part::rest, out);
  return unique_variables(out);
}

Variables Layer::weights() const {
  Variables out;
  collect(node(), Part::all, out);
  return unique_variables(out);
}

Variables Layer::hidden_state() const {
  Variables out;
  collect(node(), Part::hidden, out);
  return unique_variables(out);
}

Tensors Layer::get_weights() const {
  Tensors out;
  for (const Variable& variable : weights()) {
    Tensor host = Tensor::empty(variable.shape(), variable.dtype());
    host.copy_from(variable.value());
    out.push_back(std::move(host));
  }
  return out;
}

int64_t Layer::count_params() const {
  if (!built())
    throw StateError(place(node()) + "count_params needs a built layer; call it on a tensor first");
  int64_t count = 0;
  for (const Variable& variable : weights()) count += variable.shape().num_elements();
  return count;
}

std::shared_ptr<LayerNode> detail::finish_layer(std::shared_ptr<LayerNode> node,
                                                const LayerOptions& options) {
  if (options.name.find('/') != std::string::npos)  // it separates the parts of paths
    throw InvalidArgumentError(node->class_name() + ": expected a name without '/', received " +
                               in_quotes(options.name));
  node->set_name(options.name.empty() ? unique_name(node->class_name()) : options.name);
  try {
    node->policy_ = policy_named(options.dtype);
    check_takes(*node, node->policy_);
  } catch (const InvalidArgumentError&) {
    rethrow_with_prefix(place(*node));
  }
  if (node->compute_dtype() == DType::float16) note_float16();
  if (!options.trainable) node->set_trainable(false);  // a model must not unfreeze the layers that it holds
  return node;
}

}  // namespace nyala
