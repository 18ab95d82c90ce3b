#include <nyala/api/saving/json/strict_json.h>

#include <nyala/backend/core/error.h>

namespace nyala {

namespace {

/// Counts depth and values while the parser runs, so that a hostile text is left before it fills memory.
class Limits {
 public:
  Limits(const std::string& where, size_t most) : where_(where), most_(most) {}
  bool operator()(int depth, Json::parse_event_t event, Json&) {
    using Event = Json::parse_event_t;
    if (depth > kMaxJsonDepth)
      throw FileFormatError(where_ + ": JSON nested deeper than " + std::to_string(kMaxJsonDepth) +
                            " levels");
    const bool begins = event == Event::value || event == Event::object_start || event == Event::array_start;
    if (begins && ++values_ > most_)
      throw FileFormatError(where_ + ": JSON with more than " + std::to_string(most_) + " values");
    return true;
  }

 private:
  const std::string& where_;
  size_t most_, values_ = 0;
};

bool is_word(char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); }

bool has_python_numbers(std::string_view text) {
  return text.find("NaN") != std::string_view::npos || text.find("Infinity") != std::string_view::npos;
}

/// Python's names for what JSON has no number for, outside of strings, replaced by what it has.
std::string without_python_numbers(std::string_view text) {
  std::string out;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') quoted = !quoted;
    if (quoted && text[i] == '\\' && i + 1 < text.size()) out += text[i++];
    if (!quoted && is_word(text[i])) {
      size_t end = i;
      while (end < text.size() && is_word(text[end])) ++end;
      const std::string_view word = text.substr(i, end - i);
      out += word == "NaN" ? "null" : word == "Infinity" ? "1e308" : std::string(word);
      i = end - 1;
    } else {
      out += text[i];
    }
  }
  return out;
}

}  // namespace

Json parse_json(std::string_view text, const std::string& where, size_t stored) {
  try {
    Limits limits(where, kFreeJsonValues + stored / kJsonBytesPerValue);
    if (has_python_numbers(text)) return Json::parse(without_python_numbers(text), std::ref(limits));
    return Json::parse(text, std::ref(limits));
  } catch (const nlohmann::json::exception& error) {
    throw FileFormatError(where + ": not sound JSON: " + error.what());
  }
}

Json shape_to_json(const Shape& shape) {
  Json list = Json::array();
  for (const int64_t size : shape) list.push_back(size == None ? Json() : Json(size));
  return list;
}

}  // namespace nyala
