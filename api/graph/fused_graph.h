#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include <nyala/api/graph/graph_step.h>
#include <nyala/backend/core/mutex.h>

namespace nyala {

/// A plan with its neighbouring steps fused, and the plan that predict and evaluate run in its place where
/// anything can be folded. Training runs those steps of the latter whose layers are all frozen, and that read
/// values without a gradient; folded weights of the others are given back then.
class FusedGraph {
 public:
  /// Fuses `plan`.
  void set(GraphPlan plan);
  void clear();
  const GraphPlan& plan() const { return plan_; }

  /// Runs the steps that suit a pass over `input`. `values` has plan().num_values entries, the inputs set.
  void run(Call& c, const Tensor& input, Tensors& values) const;

 private:
  /// For a pass of training; null where nothing is frozen.
  std::shared_ptr<const GraphPlan> frozen_plan(const Call& c, const Tensor& input) const;
  /// Gives back the folded weights of the groups that are not frozen.
  void release(const std::vector<bool>& frozen) const;
  const FoldedLayer& layer_of(const FoldedGroup& group) const {
    return *folded_.plan.steps[group.step].folded;
  }

  GraphPlan plan_;
  FoldedPlan folded_;
  mutable std::atomic<bool> holds_folded_weights_{false};  // of predict and evaluate
  mutable Mutex mutex_;
  // Guarded by mutex_: the groups that were frozen when anything was, and the plan for them.
  mutable std::vector<bool> frozen_;
  mutable std::shared_ptr<const GraphPlan> frozen_plan_;
  mutable bool holds_frozen_weights_ = false;
};

}  // namespace nyala
