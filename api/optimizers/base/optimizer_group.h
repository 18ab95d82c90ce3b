#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include <nyala/api/optimizers/base/optimizer.h>

namespace nyala {

class OptimizerMap;

/// An optimizer that leaves its variables to other optimizers, each to one of them: what a wrapper derives
/// from. The state of the variables is theirs; files hold the group's own variables before those of each.
class OptimizerGroup : public BaseOptimizer {
 public:
  ~OptimizerGroup() override;

  const std::vector<Optimizer>& members() const { return members_; }
  /// What says which variable belongs to whom; null for a wrapper of one optimizer.
  virtual const OptimizerMap* optimizer_map() const { return nullptr; }

  void build(ParameterStore& store, const Variables& variables) override;
  bool built() const override { return built_; }
  void set_steps(int64_t steps) override { set_own_iteration(steps); }
  void exclude_from_weight_decay(std::vector<std::string> patterns) override;
  std::vector<OptimizerVariable> shared_variables_for_file() const override;
  std::vector<OptimizerVariable> variables_before_build() const override;
  void load_variables(const std::vector<Tensor>& values) override;
  void finalize_averages() override;
  UpdateRule& rule_for(ParameterStore& store, const Variables& listed, const Variables& active) override;

  const Variables& variables() const override { return variables_; }
  bool begin_step() override;
  bool accumulates_into_existing() const override;
  void apply(const UpdatePlace& place) override;
  void end_step() override;
  void end_gathering() override;

 protected:
  explicit OptimizerGroup(OptimizerOptions options);

  /// The member that `variable` belongs to, perhaps a new one made by add_member().
  virtual size_t member_of(const Variable& variable) = 0;
  /// Throws InvalidArgumentError for one that gathers gradients over another number of steps.
  size_t add_member(const Optimizer& member);
  /// Own variables behind "iteration" and "learning_rate", which are there after build().
  virtual std::vector<OptimizerVariable> own_variables() const { return {}; }
  virtual void load_own_variables(std::span<const Tensor>) {}
  /// Keras' "iteration" of the group itself.
  virtual int64_t own_iteration() const = 0;
  virtual void set_own_iteration(int64_t) {}
  /// Whether the members may update; asked for each set of weights.
  virtual bool admits(const UpdatePlace&, const Variables&) { return true; }
  /// Called at the end of a step.
  virtual void finish_step(bool) {}

 private:
  class Rule;

  void apply_rules(const std::vector<UpdateRule*>& rules, const UpdatePlace& place,
                   const Variables& variables);
  void end_rules(const std::vector<UpdateRule*>& rules);
  std::vector<Variables> shares_of(const Variables& variables);
  std::vector<UpdateRule*> built_members() const;
  std::vector<OptimizerVariable> own_variables_for_file() const;

  std::vector<Optimizer> members_;
  Variables variables_;
  bool built_ = false;
  bool admitted_ = true;
  std::vector<std::unique_ptr<Rule>> rules_;  // for parts of the variables, the latest at the end
};

}  // namespace nyala
