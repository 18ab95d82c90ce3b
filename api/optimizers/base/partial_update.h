#pragma once

#include <memory>
#include <vector>

#include <nyala/api/optimizers/base/update_plan.h>
#include <nyala/backend/parameters/update_rule.h>

namespace nyala {

class OptimizerNode;

/// An optimizer as the rule for some of its variables: the others keep weights and state. Counts as a step of
/// the optimizer. Lives in it.
class PartialUpdate final : public UpdateRule {
 public:
  PartialUpdate(OptimizerNode& optimizer, Variables variables)
      : optimizer_(optimizer), variables_(std::move(variables)) {}

  const Variables& variables() const override { return variables_; }
  bool begin_step() override;
  bool accumulates_into_existing() const override;
  void apply(const UpdatePlace& place) override;
  void end_step() override;
  void end_gathering() override;

 private:
  UpdatePlan& plan_of(int copy);

  OptimizerNode& optimizer_;
  Variables variables_;
  std::vector<std::unique_ptr<UpdatePlan>> plans_;  // by copy
};

}  // namespace nyala
