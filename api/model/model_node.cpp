#include <nyala/api/model/model_node.h>

#include <algorithm>
#include <mutex>

#include <nyala/api/layers/base/layer_autocast.h>
#include <nyala/api/model/live_models.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/parameters/variable_changes.h>
#include <nyala/backend/runtime/context.h>

namespace nyala {

using namespace nyala::detail;

ModelNode::ModelNode() : strategy_(current_strategy()) { note_model(*this); }

ModelNode::~ModelNode() { forget_model(*this); }

// Layers build themselves for the abstract tensors that they are called with.
void ModelNode::build(Builder&, const Shapes& inputs) {
  Tensors abstract;
  for (const Shape& shape : inputs) abstract.push_back(Tensor::abstract(shape, compute_dtype()));
  Call c;
  const RunningCall tracing{.call = &c, .layer = this, .outer = thread_context().running};
  const ScopedValue<const RunningCall*> running(thread_context().running, &tracing);
  const LayerAutocast autocast(c, *this);
  if (takes_many())
    call(c, Inputs(abstract));
  else
    call(c, abstract.at(0));
}

const Tensors& ModelNode::inputs() const {
  static const Tensors& none = *new Tensors;
  return none;
}

void ModelNode::set_dtype_policy(DTypePolicy policy) {
  if (policy == policy_) return;
  throw StateError("model " + in_quotes(name()) + ": expected the dtype policy " + in_quotes(policy_.name()) +
                   ", in which it was made, received " + in_quotes(policy.name()) +
                   ": its layers keep theirs; call nyala::set_dtype_policy() in front of making them, or "
                   "load_model(path, {.dtype_policy = \"" +
                   policy.name() + "\"})");
}

Variables ModelNode::variables() const {
  // A handle needs shared ownership of a mutable node; the variables are the same either way.
  return Layer(const_cast<ModelNode*>(this)->shared_from_this()).weights();
}

Variables ModelNode::hidden_state() const {
  return Layer(const_cast<ModelNode*>(this)->shared_from_this()).hidden_state();
}

namespace {

std::string home_of(const Variable& variable) {
  try {
    return "another strategy (" + strategy_of(variable)->name() + ")";
  } catch (const StateError&) {
    return "a strategy that is gone";
  }
}

}  // namespace

void ModelNode::set_training(std::shared_ptr<ModelTraining> training) {
  const std::lock_guard lock(building_);  // what was there ends behind it
  training_.swap(training);
}

void ModelNode::check_variables() {
  const uint64_t now = variable_changes();
  if (checked_at_ == now) return;
  for (const Variable& variable : variables())
    if (variable.node().owner.lock().get() != static_cast<SegmentOwner*>(&strategy_->store()))
      throw StateError(
          "model " + in_quotes(name()) + " belongs to " + strategy_->name() + ", but its variable " +
          in_quotes(variable.path()) + " lies in " + home_of(variable) +
          ": it was made outside, or moved with another model that shares its layer; make layers "
          "and model in one scope, or bring the whole model into one by strategy.adopt(model)");
  checked_at_ = now;
}

void ModelNode::add_optimizer(const std::string& attribute, const Optimizer& optimizer) {
  optimizer.node();  // throws for an empty handle
  const auto is_it = [&](const auto& known) { return known.first == attribute; };
  if (attribute == "optimizer" || attribute == "layers" || std::ranges::any_of(own_optimizers_, is_it) ||
      std::ranges::any_of(sublayers_, is_it))
    throw InvalidArgumentError("track_optimizer: expected a name of its own, received " +
                               in_quotes(attribute) + ", which " +
                               (attribute == "optimizer" ? "is that of compile()" : "is taken already"));
  own_optimizers_.emplace_back(attribute, optimizer);
}

std::vector<Layer> ModelNode::layers() const {
  std::vector<Layer> out;
  for (const auto& [attribute, layer] : sublayers()) out.push_back(layer);
  return out;
}

std::vector<std::string> ModelNode::output_names(size_t num_outputs) const {
  std::vector<std::string> names;
  for (size_t i = 0; i < num_outputs; ++i) names.push_back("output_" + std::to_string(i + 1));
  return names;
}

}  // namespace nyala
