#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <nyala/backend/core/shape.h>
#include <nyala/files/json/json.h>

namespace nyala {

/// How deep a file's JSON may be nested, and how many values (lists and objects included) it may hold: a
/// value takes up to 64 bytes of memory, whatever its text.
inline constexpr size_t kMaxJsonDepth = 200;
inline constexpr size_t kFreeJsonValues = 250'000, kJsonBytesPerValue = 12;

struct JsonLimits {
  size_t values;
  size_t depth = kMaxJsonDepth;
  bool unique_keys = false;  ///< else the last one of a name is taken, as Python does
};

/// Parses what Python's json writes; NaN, Infinity and -Infinity are the numbers of these names.
/// Throws FileFormatError naming `where`, the byte and the reason for anything else, for text behind the
/// value and for JSON that is too deep or has more values than `limits` (than kFreeJsonValues and one per
/// kJsonBytesPerValue bytes that the text takes in its file, `stored`).
Json parse_json(std::string_view text, const std::string& where, size_t stored);
Json parse_json(std::string_view text, const std::string& where, const JsonLimits& limits);
inline Json parse_json(std::string_view text, const std::string& where) {
  return parse_json(text, where, text.size());
}

/// The sizes of a shape as Keras writes them: null for None.
Json shape_to_json(const Shape& shape);

}  // namespace nyala
