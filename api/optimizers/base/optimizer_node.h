#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <nyala/api/optimizers/base/optimizer.h>
#include <nyala/api/optimizers/base/optimizer_state.h>
#include <nyala/api/optimizers/base/partial_update.h>
#include <nyala/api/optimizers/base/update_formula.h>

namespace nyala {

/// An optimizer with a formula; does what all share: clipping, weight decay, accumulation, moving averages,
/// constraints, state. A user's optimizer derives and overrides what UpdateFormula asks for.
class OptimizerNode : public BaseOptimizer, public UpdateFormula {
 public:
  explicit OptimizerNode(OptimizerOptions options);
  ~OptimizerNode() override;

  /// The weight decay of a variable that is not excluded; NaN: none.
  virtual double weight_decay_of(const Variable&) const { return options_.weight_decay; }

  // BaseOptimizer
  void build(ParameterStore& store, const Variables& variables) override;
  bool built() const override { return state_.built(); }
  void exclude_from_weight_decay(std::vector<std::string> patterns) override;
  std::vector<std::string> excluded_from_weight_decay() const override { return no_decay_; }
  int64_t iterations() const override;
  int64_t steps() const override { return steps_; }
  void set_steps(int64_t steps) override { steps_ = steps; }
  double learning_rate() const override;
  void set_learning_rate(double rate) override;
  std::vector<OptimizerVariable> shared_variables_for_file() const override;
  std::vector<OptimizerVariable> variables_before_build() const override;
  void load_variables(const std::vector<Tensor>& values) override;
  void finalize_averages() override;
  UpdateRule& rule_for(ParameterStore& store, const Variables& listed, const Variables& active) override;

  // UpdateRule
  const Variables& variables() const override { return state_.variables(); }
  bool begin_step() override;
  bool accumulates_into_existing() const override;
  void apply(const UpdatePlace& place) override;
  void end_step() override;
  void end_gathering() override;

 private:
  friend class PartialUpdate;

  int64_t accumulation_steps() const { return std::max<int64_t>(options_.gradient_accumulation_steps, 1); }
  double gradient_scale() const;
  double decay_of(const Variable& variable) const;
  std::vector<double> scalars() const;
  UpdatePlanOptions plan_options(const Variables& variables) const;
  std::unique_ptr<UpdatePlan> make_plan(int copy, const Variables& variables);
  UpdatePlan& plan_of(int copy);
  void apply_plan(UpdatePlan& plan, const UpdatePlace& place, const Variables& variables);
  void update_slice(const UpdatePlan& plan, int slice) const;
  bool overwrites_now() const;
  void average(const UpdateRange& range) const;
  void constrain(int copy, const Variables& variables) const;
  /// What Keras does after every step, also after those that only gather gradients.
  void average_and_constrain(const std::function<UpdatePlan&(int)>& plan_of, const Variables& variables);
  void check_known(const Variables& listed) const;
  /// For a step with variables of `store`. Throws StateError where its variables lie in several.
  void follow(ParameterStore& store);
  [[noreturn]] void throw_gathered_lost(const Variable& variable) const;
  Tensor shared_accumulator(const StateEntry& entry) const;

  OptimizerState state_;
  Variables constrained_;  // those of variables() that have a constraint
  std::vector<std::string> no_decay_;
  std::vector<std::unique_ptr<UpdatePlan>> plans_;               // by copy
  std::vector<std::unique_ptr<PartialUpdate>> partial_updates_;  // the latest at the end
  int64_t steps_ = 0;  // Keras' iteration: counts steps that only gather, too
  float rate_ = 0.0f;
};

}  // namespace nyala
