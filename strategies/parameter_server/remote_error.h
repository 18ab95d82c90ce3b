#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace nyala::detail {

/// Inside a catch block: what was thrown, for another process, with `prefix` in front of its text.
std::vector<std::byte> current_error_as_bytes(const std::string& prefix);
/// Throws it there: Nyala's exceptions with their type, others as Error.
[[noreturn]] void throw_error_of(std::span<const std::byte> bytes);

}  // namespace nyala::detail
