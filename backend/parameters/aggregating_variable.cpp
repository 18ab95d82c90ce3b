#include <nyala/backend/parameters/aggregating_variable.h>

#include <nyala/backend/core/error.h>
#include <nyala/backend/core/undying.h>

namespace nyala {

using namespace nyala::detail;

const AggregatingVariable& AggregatingVariable::instance() {
  static const detail::Undying<AggregatingVariable> kind;
  return *kind;
}

Tensor AggregatingVariable::read(const VariableNode& node, const VariablePlace& place) const {
  return place.context == VariablePlace::Context::replica ? own_copy(node, place) : node.home;
}

void AggregatingVariable::write(VariableNode& node, const VariablePlace& place,
                                const VariableWrite& write) const {
  check_scatter(node, write);
  if (place.context == VariablePlace::Context::replica) check_own_strategy(node, place, write);
  if (place.context != VariablePlace::Context::replica || !place.others) {
    apply(write, node.home);
    return fetch(node);
  }
  if (node.spec.aggregation == Aggregation::none)
    throw StateError(place_of(node, write) +
                     "the replicas share one variable on the parameter device, so that their values need an "
                     "aggregation; expected sum, mean or only_first_replica, received none");
  write_together(node, place, write);
}

void AggregatingVariable::fetch(const VariableNode& node) const {
  for (const Tensor& copy : node.copies)
    if (copy.raw() != node.home.raw()) copy.copy_from(node.home);
}

}  // namespace nyala
