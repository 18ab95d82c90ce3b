#pragma once

#include <string>
#include <string_view>

namespace nyala {

/// Text that may come from a file, as a terminal can be given it: control characters, with which it could be
/// commanded, and bytes that are no UTF-8 are written as "\x1b". Line ends and tabs stay with `keep_lines`,
/// which is for whole texts: a name is quoted without it, so that it cannot add lines to a log.
std::string printable(std::string_view text, bool keep_lines = false);

}  // namespace nyala
