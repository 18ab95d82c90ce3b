#include <nyala/api/saving/json/strict_json.h>

#include <nyala/backend/core/error.h>

namespace nyala {

namespace {

/// Counts depth and values while the parser runs, so that a hostile text is left before it fills memory.
class Limits {
 public:
  explicit Limits(const std::string& where) : where_(where) {}
  bool operator()(int depth, Json::parse_event_t event, Json&) {
    if (depth > kMaxJsonDepth)
      throw FileFormatError(where_ + ": JSON nested deeper than " + std::to_string(kMaxJsonDepth) + " levels");
    if (event == Json::parse_event_t::value && ++values_ > kMaxJsonValues)
      throw FileFormatError(where_ + ": JSON with more than " + std::to_string(kMaxJsonValues) + " values");
    return true;
  }

 private:
  const std::string& where_;
  size_t values_ = 0;
};

bool is_word(char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); }

/// Python's names for what JSON has no number for, outside of strings, replaced by what it has.
std::string without_python_numbers(const std::string& text) {
  if (text.find("NaN") == std::string::npos && text.find("Infinity") == std::string::npos) return text;
  std::string out;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') quoted = !quoted;
    if (quoted && text[i] == '\\' && i + 1 < text.size()) out += text[i++];
    if (!quoted && is_word(text[i])) {
      size_t end = i;
      while (end < text.size() && is_word(text[end])) ++end;
      const std::string word = text.substr(i, end - i);
      out += word == "NaN" ? "null" : word == "Infinity" ? "1e308" : word;
      i = end - 1;
    } else {
      out += text[i];
    }
  }
  return out;
}

}  // namespace

Json parse_json(const std::string& text, const std::string& where) {
  try {
    Limits limits(where);
    return Json::parse(without_python_numbers(text), std::ref(limits));
  } catch (const nlohmann::json::exception& error) {
    throw FileFormatError(where + ": not sound JSON: " + error.what());
  }
}

Json parse_json(std::span<const std::byte> text, const std::string& where) {
  return parse_json(std::string(reinterpret_cast<const char*>(text.data()), text.size()), where);
}

Json shape_to_json(const Shape& shape) {
  Json list = Json::array();
  for (const int64_t size : shape) list.push_back(size == None ? Json() : Json(size));
  return list;
}

}  // namespace nyala
