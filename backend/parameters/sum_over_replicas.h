#pragma once

#include <nyala/backend/parameters/variable.h>

namespace nyala::detail {

/// Whether replicas' values add up to that of the variable: those of a stateful layer, which have their rows.
inline bool is_sum_over_replicas(const Variable& variable) {
  return variable.synchronization() == Synchronization::on_read && variable.aggregation() == Aggregation::sum;
}

}  // namespace nyala::detail
