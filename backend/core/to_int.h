#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace nyala::detail {

/// `value` as an int. Throws InvalidArgumentError, "`what`: expected ...", for one that an int does not hold,
/// where a cast would leave another number.
int to_int(int64_t value, std::string_view what);
/// The same of each.
std::vector<int> to_ints(std::span<const int64_t> values, std::string_view what);

}  // namespace nyala::detail
