#include <nyala/api/optimizers/base/partial_update.h>

#include <algorithm>

#include <nyala/api/optimizers/base/optimizer_node.h>

namespace nyala {

bool PartialUpdate::begin_step() { return optimizer_.begin_step(); }

bool PartialUpdate::accumulates_into_existing() const { return optimizer_.accumulates_into_existing(); }

UpdatePlan& PartialUpdate::plan_of(int copy) {
  const size_t index = static_cast<size_t>(copy);
  if (plans_.size() <= index) plans_.resize(index + 1);
  if (!plans_[index]) plans_[index] = optimizer_.make_plan(copy, variables_);
  return *plans_[index];
}

// As in Keras the moving averages of the others go on, too. Rare enough for a plan that is made for each
// step.
void PartialUpdate::apply(const UpdatePlace& place) {
  optimizer_.apply_plan(plan_of(place.copy), place, variables_);
  if (!optimizer_.options().use_ema) return;
  Variables others;
  for (const Variable& variable : optimizer_.variables())
    if (std::ranges::find(variables_, variable) == variables_.end()) others.push_back(variable);
  const std::unique_ptr<UpdatePlan> plan = optimizer_.make_plan(place.copy, others);
  plan->arrange(place.gradient_replica, 1);
  plan->set_scalars(optimizer_.scalars());
  for (const UpdateRange& range : plan->ranges(0)) optimizer_.average(range);
}

void PartialUpdate::end_step() { optimizer_.end_step(); }

void PartialUpdate::end_gathering() {
  optimizer_.average_and_constrain([this](int copy) -> UpdatePlan& { return optimizer_.plan_of(copy); },
                                   variables_);
}

}  // namespace nyala
