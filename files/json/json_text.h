#pragma once

#include <string>

#include <nyala/files/json/json.h>

namespace nyala {

/// `json` on one line as Python's json writes it, with its NaN, Infinity and -Infinity. Throws
/// InvalidArgumentError, beginning with `what`, for a text in it that is not UTF-8.
std::string json_text(const Json& json, const std::string& what);

/// The same for messages, with U+FFFD for what is not UTF-8.
std::string readable_json(const Json& json);

/// The beginning of readable_json(), for messages that quote a file: at most kMostQuoted bytes and "...".
std::string quoted_json(const Json& json);

/// The beginning of a text from a file, for messages: at most kMostQuoted bytes and "...".
inline constexpr size_t kMostQuoted = 200;
std::string quoted_part(std::string text);

}  // namespace nyala
