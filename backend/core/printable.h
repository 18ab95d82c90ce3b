#pragma once

#include <string>
#include <string_view>

namespace nyala {

/// Text that may come from a file, as a terminal can be given it: control characters, with which it could be
/// commanded, are written as "\x1b". Line ends and tabs stay with `keep_lines`.
std::string printable(std::string_view text, bool keep_lines = false);

}  // namespace nyala
