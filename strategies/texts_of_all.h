#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace nyala {

class ProcessExchange;

namespace detail {

/// What each process says, in the order of ranks: one exchange of a number where all say nothing. `what`
/// stands in errors.
std::vector<std::string> texts_of_all(ProcessExchange& processes, const std::string& own,
                                      std::string_view what);

}  // namespace detail
}  // namespace nyala
