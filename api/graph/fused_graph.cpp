#include <nyala/api/graph/fused_graph.h>

#include <algorithm>
#include <mutex>
#include <utility>

namespace nyala {

void FusedGraph::set(GraphPlan plan) {
  plan_ = std::move(plan);
  fuse_activations(plan_);
  fuse_paddings(plan_);
  find_last_uses(plan_);
  folded_ = folded_plan(plan_);
  frozen_.assign(folded_.groups.size(), false);
  frozen_plan_ = nullptr;
}

void FusedGraph::clear() { set({}); }

void FusedGraph::run(Call& c, const Tensor& input, Tensors& values) const {
  if (folded_.groups.empty()) return run_steps(c, plan_.steps, values);
  if (takes_folded_plan(c, input)) {
    holds_folded_weights_.store(true, std::memory_order_relaxed);
    return run_steps(c, folded_.plan.steps, values);
  }
  if (const auto plan = frozen_plan(c, input)) return run_steps(c, plan->steps, values);
  run_steps(c, plan_.steps, values);
}

// Asked anew in each pass, since a layer may be frozen or not at any time: nothing has to be told. A pass
// that trains everything leaves the plan as it is for the next one, where models that share this graph train
// in turn.
std::shared_ptr<const GraphPlan> FusedGraph::frozen_plan(const Call& c, const Tensor& input) const {
  const bool takes = takes_partly_folded_plan(c, input);
  if (!takes && !c.training()) return nullptr;
  const std::lock_guard lock(mutex_);
  const auto is_frozen = [&](const FoldedGroup& group) { return takes && layer_of(group).is_frozen(c); };
  if (std::ranges::none_of(folded_.groups, is_frozen)) {
    const bool holds = holds_folded_weights_.exchange(false, std::memory_order_relaxed);
    if (std::exchange(holds_frozen_weights_, false) || holds)
      release(std::vector<bool>(frozen_.size(), false));
    return nullptr;
  }
  bool changed = !frozen_plan_;
  for (size_t i = 0; i < frozen_.size(); ++i) {
    const bool now = is_frozen(folded_.groups[i]);
    changed = changed || now != frozen_[i];
    frozen_[i] = now;
  }
  if (changed) frozen_plan_ = std::make_shared<const GraphPlan>(partly_folded_plan(plan_, folded_, frozen_));
  if (holds_folded_weights_.exchange(false, std::memory_order_relaxed) || changed) release(frozen_);
  holds_frozen_weights_ = true;
  return frozen_plan_;
}

void FusedGraph::release(const std::vector<bool>& frozen) const {
  for (size_t i = 0; i < frozen.size(); ++i)
    if (!frozen[i]) layer_of(folded_.groups[i]).release();
}

}  // namespace nyala
