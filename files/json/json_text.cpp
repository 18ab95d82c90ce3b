// Objects and lists are written here; numbers and texts as nlohmann's library writes them, which gives the
// shortest digits of most numbers.
#include <nyala/files/json/json_text.h>

#include <cmath>
#include <ostream>

#include <nlohmann/json.hpp>

#include <nyala/backend/core/error.h>

namespace nyala {

namespace {

using Library = nlohmann::json;

struct Style {
  bool ascii = false;
  bool python_numbers = true;  // NaN and Infinity, which JSON lacks; else null
  Library::error_handler_t not_utf8 = Library::error_handler_t::strict;
};

bool is_plain(const std::string& text) {
  for (const char c : text)
    if (c < ' ' || c > '~' || c == '"' || c == '\\') return false;
  return true;
}

void write_string(const std::string& text, const Style& style, std::string& out) {
  if (is_plain(text))
    out.append(1, '"').append(text).append(1, '"');
  else
    out += Library(text).dump(-1, ' ', style.ascii, style.not_utf8);
}

std::string number_text(double value, const Style& style) {
  if (std::isfinite(value) || !style.python_numbers) return Library(value).dump();
  return std::isnan(value) ? "NaN" : value < 0 ? "-Infinity" : "Infinity";
}

void write(const Json& json, const Style& style, std::string& out) {
  const char* separator = "";
  if (json.is_array()) {
    out += '[';
    for (const Json& item : json) {
      out += std::exchange(separator, ",");
      write(item, style, out);
    }
    out += ']';
  } else if (json.is_object()) {
    out += '{';
    for (const auto& [key, value] : json.items()) {
      out += std::exchange(separator, ",");
      write_string(key, style, out);
      out += ':';
      write(value, style, out);
    }
    out += '}';
  } else if (json.is_string()) {
    write_string(json.as_string(), style, out);
  } else if (json.is_number_float()) {
    out += number_text(json.get<double>(), style);
  } else if (json.is_number_unsigned()) {
    out += std::to_string(json.get<uint64_t>());
  } else if (json.is_number_integer()) {
    out += std::to_string(json.get<int64_t>());
  } else {
    out += json.is_null() ? "null" : json.get<bool>() ? "true" : "false";
  }
}

std::string text_of(const Json& json, const Style& style) {
  std::string out;
  write(json, style, out);
  return out;
}

std::string utf8_text(const Json& json, const Style& style, const std::string& what) {
  try {
    return text_of(json, style);
  } catch (const Library::type_error&) {
    const std::string readable =
        text_of(json, {.ascii = true, .not_utf8 = Library::error_handler_t::replace});
    const size_t at = readable.find("\\ufffd");
    const std::string around = readable.substr(at < 40 ? 0 : at - 40, 60);
    throw InvalidArgumentError(what + ": a name or text is not UTF-8, as JSON must be, near " +
                               detail::in_quotes(around) + "; give the layer or weight another name");
  }
}

}  // namespace

std::string json_text(const Json& json, const std::string& what) { return utf8_text(json, {}, what); }

std::string readable_json(const Json& json) {
  return text_of(json, {.not_utf8 = Library::error_handler_t::replace});
}

std::string quoted_part(std::string text) {
  if (text.size() <= kMostQuoted) return text;
  size_t shown = kMostQuoted;
  while (shown > kMostQuoted - 4 && (static_cast<unsigned char>(text[shown]) & 0xc0) == 0x80) --shown;
  return text.substr(0, shown) + "...";
}

std::string quoted_json(const Json& json) { return quoted_part(readable_json(json)); }

std::string Json::dump() const { return utf8_text(*this, {.python_numbers = false}, "JSON"); }

std::ostream& operator<<(std::ostream& out, const Json& json) { return out << readable_json(json); }

}  // namespace nyala
