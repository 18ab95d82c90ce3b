#pragma once

#include <span>

#include <nyala/backend/parameters/variable_write.h>

namespace nyala {

class ProcessExchange;

namespace detail {

/// The number of a write of one number; 0 for a variable without elements.
double number_of(const VariableWrite& write);

/// What the writes of the replicas of this process and of all others become by the variable's aggregation.
VariableWrite reduce_writes_of_all(const VariableNode& node, std::span<const VariableWrite* const> writes,
                                   Device device, ProcessExchange& processes);

}  // namespace detail

}  // namespace nyala
