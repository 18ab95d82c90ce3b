#include <nyala/api/graph/fused_graph.h>

#include <utility>

namespace nyala {

void FusedGraph::set(GraphPlan plan) {
  plan_ = std::move(plan);
  fuse_activations(plan_);
  fuse_paddings(plan_);
  find_last_uses(plan_);
  folded_ = folded_plan(plan_);
}

void FusedGraph::clear() { plan_ = folded_ = {}; }

void FusedGraph::run(Call& c, const Tensor& input, Tensors& values) const {
  if (!folded_.steps.empty() && takes_folded_plan(c, input)) {
    holds_folded_weights_.store(true, std::memory_order_relaxed);
    run_steps(c, folded_.steps, values);
    return;
  }
  if (c.training() && holds_folded_weights_.exchange(false, std::memory_order_relaxed))
    release_folded_weights(folded_);
  run_steps(c, plan_.steps, values);
}

}  // namespace nyala
