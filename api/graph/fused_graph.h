#pragma once

#include <atomic>

#include <nyala/api/graph/graph_step.h>

namespace nyala {

/// A plan with its neighbouring steps fused, and the plan that predict and evaluate run in its place where
/// anything can be folded. The memory of folded weights is given back when training goes on.
class FusedGraph {
 public:
  /// Fuses `plan`.
  void set(GraphPlan plan);
  void clear();
  const GraphPlan& plan() const { return plan_; }

  /// Runs the steps that suit a pass over `input`. `values` has plan().num_values entries, the inputs set.
  void run(Call& c, const Tensor& input, Tensors& values) const;

 private:
  GraphPlan plan_, folded_;  // no steps: nothing to fold
  mutable std::atomic<bool> holds_folded_weights_{false};
};

}  // namespace nyala
