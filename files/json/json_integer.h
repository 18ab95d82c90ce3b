#pragma once

#include <cstdint>
#include <limits>
#include <optional>

#include <nyala/files/json/strict_json.h>

namespace nyala {

/// The integer that `json` is; nothing for what is none, and for one that int64 does not hold.
inline std::optional<int64_t> integer_in(const Json& json) {
  constexpr auto kMost = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  if (!json.is_number_integer() || (json.is_number_unsigned() && json.get<uint64_t>() > kMost)) return {};
  return json.get<int64_t>();
}

}  // namespace nyala
