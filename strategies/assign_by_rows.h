#pragma once

#include <nyala/backend/parameters/variable.h>

namespace nyala::detail {

/// Assigns a state that has a row for each row of the batch, and is a sum over replicas: each replica gets
/// the rows that it has of a batch, and zeros elsewhere. Between steps.
void assign_by_rows(const Variable& variable, const Tensor& value);

}  // namespace nyala::detail
