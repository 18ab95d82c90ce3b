#include <nyala/api/optimizers/base/partial_update.h>

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

void PartialUpdate::apply(const UpdatePlace& place) {
  optimizer_.apply_plan(plan_of(place.copy), place, variables_);
}

void PartialUpdate::end_step() { optimizer_.end_step(); }

void PartialUpdate::end_gathering() {
  optimizer_.average_and_constrain([this](int copy) -> UpdatePlan& { return plan_of(copy); }, variables_);
}

}  // namespace nyala
