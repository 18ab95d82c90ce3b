#pragma once

#include <string>
#include <vector>

namespace nyala::detail {

/// "0.001 in ranks 0, 2 and 0.01 in rank 1", of one value per rank; empty where all are the same.
std::string values_by_ranks(const std::vector<std::string>& of_ranks);

}  // namespace nyala::detail
