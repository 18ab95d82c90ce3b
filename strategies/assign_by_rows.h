#pragma once

#include <nyala/backend/parameters/variable.h>

namespace nyala::detail {

/// Whether replicas' values add up to that of the variable: those of a stateful layer, which have their rows.
bool is_sum_over_replicas(const Variable& variable);

/// Assigns a state that has a row for each row of the batch, and is a sum over replicas: each replica gets
/// the rows that it has of a batch, and zeros elsewhere. Between steps.
void assign_by_rows(const Variable& variable, const Tensor& value);

}  // namespace nyala::detail
