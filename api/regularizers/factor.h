#pragma once

#include <string>

namespace nyala::detail {

/// Throws InvalidArgumentError naming class and field for NaN and infinity.
void check_factor(const std::string& class_name, const std::string& field, double factor);

}  // namespace nyala::detail
