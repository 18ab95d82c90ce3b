#pragma once

#include <cstdint>
#include <string>

namespace nyala::applications::detail {

/// A number as Python's str() gives a float: "0.35", "1.0".
std::string shortest(double value);
/// "0.35", "1.00".
std::string two_decimals(double value);
/// A height or width, "None" where it is not known.
std::string size_name(int64_t size);

}  // namespace nyala::applications::detail
