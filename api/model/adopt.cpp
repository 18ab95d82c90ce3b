#include <nyala/api/model/model_node.h>
#include <nyala/api/training/model_use.h>
#include <nyala/api/training/training_state.h>

namespace nyala {

namespace {

/// What a model keeps per replica: the next step makes it again.
void forget_replicas(TrainingState& state) {
  state.sums.clear();
  state.calls.clear();
  state.steps.clear();
  state.tapes.clear();
  state.logged.clear();
  state.rows = 0;
}

void find_trained(TrainingState& state, const ParameterStore& store) {
  state.trained_leaves.assign(static_cast<size_t>(store.num_leaves()), false);
  for (const Variable& variable : state.optimizer.node().variables())
    state.trained_leaves[static_cast<size_t>(variable.node().leaf)] = true;
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

}  // namespace

void ModelNode::leave_strategy() {
  for_models_inside(*this, [](ModelNode& model) { model.leave_strategy(); });
  moving_states_.clear();
  const ExclusiveUse alone(*this, "adopt");
  for (const Optimizer& optimizer : all_optimizers()) {
    if (!optimizer.node().built()) continue;
    Tensors state;
    for (const OptimizerVariable& variable : optimizer.node().variables_for_file())
      state.push_back(variable.value);
    moving_states_.emplace_back(optimizer, std::move(state));
  }
}

void ModelNode::enter_strategy(const std::shared_ptr<StrategyNode>& strategy) {
  for_models_inside(*this, [&](ModelNode& model) { model.enter_strategy(strategy); });
  strategy_ = strategy;
  variables_are_checked_ = false;
  if (training) forget_replicas(*training);
  for (const auto& [optimizer, state] : moving_states_) optimizer.node().move_to(strategy->store(), state);
  moving_states_.clear();
  if (training && training->trained) find_trained(*training, strategy->store());
}

}  // namespace nyala
