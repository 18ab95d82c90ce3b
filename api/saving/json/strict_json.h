#pragma once

#include <cstddef>
#include <span>
#include <string>

#include <nlohmann/json.hpp>

#include <nyala/backend/core/shape.h>

namespace nyala {

/// JSON whose objects keep the order of their keys, as Keras' files have them.
using Json = nlohmann::ordered_json;

/// How deep a file's JSON may be nested, and how many values it may hold.
inline constexpr int kMaxJsonDepth = 200;
inline constexpr size_t kMaxJsonValues = 20'000'000;

/// Parses what Python's json writes (NaN and Infinity included: they become null and a very large number).
/// Throws FileFormatError naming `where`, the byte and the reason for anything else, for text behind the value
/// and for JSON that is too deep or too large.
Json parse_json(std::span<const std::byte> text, const std::string& where);
Json parse_json(const std::string& text, const std::string& where);

/// The sizes of a shape as Keras writes them: null for None.
Json shape_to_json(const Shape& shape);

}  // namespace nyala
