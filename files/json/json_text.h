#pragma once

#include <string>

#include <nyala/files/json/json.h>

namespace nyala {

/// `json` on one line as Python's json writes it, with its NaN, Infinity and -Infinity. Throws
/// InvalidArgumentError, beginning with `what`, for a text in it that is not UTF-8.
std::string json_text(const Json& json, const std::string& what);

/// The same for messages, with U+FFFD for what is not UTF-8.
std::string readable_json(const Json& json);

}  // namespace nyala
