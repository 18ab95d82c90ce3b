#include <nyala/api/model/model_node.h>
#include <nyala/api/training/model_training.h>
#include <nyala/api/training/model_use.h>
#include <nyala/api/training/optimizer_variables.h>

namespace nyala {

namespace {

/// What a model keeps per replica: the next step makes it again.
void forget_replicas(EpochSums& sums, StepMemory& memory) {
  sums.of_replicas.clear();
  sums.of_all.clear();
  sums.logged.clear();
  sums.rows = 0;
  memory.calls.clear();
  memory.steps.clear();
  memory.tapes.clear();
}

/// Calls f for every model inside `node`.
template <class F>
void for_models_inside(const LayerNode& node, F&& f) {
  for (const auto& [attribute, layer] : node.sublayers()) {
    if (auto* model = dynamic_cast<ModelNode*>(&layer.node()))
      f(*model);
    else
      for_models_inside(layer.node(), f);
  }
}

/// Those of an optimizer's variables that moved with the model: a layer that was popped did not.
Variables moved_ones(const Variables& variables, const ParameterStore& store) {
  Variables moved;
  for (const Variable& variable : variables)
    if (variable.node().owner.lock().get() == static_cast<const SegmentOwner*>(&store))
      moved.push_back(variable);
  return moved;
}

}  // namespace

void ModelNode::leave_strategy() {
  refuse_inside_calls(*this, "adopt");
  const ExclusiveUse alone(*this, "adopt");
  for_models_inside(*this, [](ModelNode& model) { model.leave_strategy(); });
  moving_states_.clear();
  for (const Optimizer& optimizer : all_optimizers()) {
    if (!optimizer.node().built()) continue;
    Tensors state;
    if (optimizer.node().accumulates_into_existing())  // what is gathered does not follow by itself
      for (const OptimizerVariable& variable : optimizer.node().variables_for_file())
        state.push_back(variable.value);
    moving_states_.emplace_back(optimizer, std::move(state));
  }
}

void ModelNode::enter_strategy(const std::shared_ptr<StrategyNode>& strategy) {
  for_models_inside(*this, [&](ModelNode& model) { model.enter_strategy(strategy); });
  strategy_ = strategy;
  checked_at_ = 0;
  if (training_) forget_replicas(training_->sums, training_->memory);
  for (const auto& [optimizer, state] : moving_states_) {
    const Variables moved = moved_ones(optimizer.node().variables(), strategy->store());
    if (state.empty() || moved.size() < optimizer.node().variables().size())
      optimizer.node().build(strategy->store(), moved);
    else
      optimizer.node().move_to(strategy->store(), state);
  }
  moving_states_.clear();
  if (training_ && training_->compiled.trained) find_trained(training_->compiled, strategy->store());
}

}  // namespace nyala
