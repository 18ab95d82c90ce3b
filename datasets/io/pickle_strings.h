#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace nyala::datasets {

/// The bytes of Python 2's repr of a str: in quotes, with backslash escapes. Nothing for anything else.
std::optional<std::string> unquoted(std::string_view repr);

/// Python's "raw-unicode-escape" as UTF-8: Latin-1 with \uXXXX and \UXXXXXXXX. Nothing for a wrong escape or
/// a number that is no character.
std::optional<std::string> from_raw_unicode_escape(std::string_view raw);

}  // namespace nyala::datasets
