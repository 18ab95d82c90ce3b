#pragma once

#include <memory>
#include <string>
#include <vector>

#include <nyala/strategies/parameter_server/server_rule.h>

namespace nyala {

class Optimizer;

namespace detail {

/// The optimizer's update of rows of the table of that name, elementwise by its formula. `lazy`: of those
/// that have a gradient alone. Throws InvalidArgumentError for an optimizer or an option that needs more than
/// rows, saying which ones do not.
std::unique_ptr<RowRule> row_rule_of(const Optimizer& optimizer, const std::string& table, bool lazy);

/// Reads what text_of_row_initializer() gives.
RowFillerReader read_row_fillers();

}  // namespace detail

}  // namespace nyala
