// nlohmann's parser gives events, and the value is built here from them, under limits of depth and number of
// values: a value takes up to 64 bytes of memory, however short its text. Python's NaN and Infinity, which
// JSON lacks, are replaced in a copy of the text before, only where there are such words.
#include <nyala/files/json/strict_json.h>

#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <nyala/backend/core/error.h>

namespace nyala {

namespace {

/// Builds the value while the parser runs, so that a hostile text is left before it fills memory. The
/// library's own way to look at the parser's events goes over a list anew for each object in it.
class Builder final : public nlohmann::json_sax<nlohmann::json> {
 public:
  Builder(const std::string& where, const JsonLimits& limits) : where_(where), limits_(limits) {}

  bool null() override { return put(Json()); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(int64_t value) override { return put(value); }
  bool number_unsigned(uint64_t value) override { return put(value); }
  bool number_float(double value, const std::string&) override { return put(value); }
  bool string(std::string& value) override { return put(std::move(value)); }
  bool binary(binary_t&) override { return false; }  // no text has such
  bool start_object(size_t) override { return open(Json::object()); }
  bool start_array(size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(std::string& name) override {
    Json& object = *open_.back();
    const size_t before = object.size();
    next_ = &object[name];
    if (limits_.unique_keys && object.size() == before)
      throw FileFormatError(where_ + ": JSON with the key " + detail::in_quotes(name) +
                            " twice in one object");
    return true;
  }
  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception& error) override {
    throw FileFormatError(where_ + ": not sound JSON: " + error.what());
  }

  Json root;

 private:
  bool put(Json value) {
    place(std::move(value));
    return true;
  }
  Json& place(Json value) {
    if (++values_ > limits_.values)
      throw FileFormatError(where_ + ": JSON with more than " + std::to_string(limits_.values) + " values");
    if (open_.empty()) return root = std::move(value);
    if (open_.back()->is_array()) return open_.back()->push_back(std::move(value));
    return *next_ = std::move(value);
  }
  bool open(Json value) {
    if (open_.size() >= limits_.depth)
      throw FileFormatError(where_ + ": JSON nested deeper than " + std::to_string(limits_.depth) +
                            " levels");
    open_.push_back(&place(std::move(value)));
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  const std::string& where_;
  const JsonLimits limits_;
  std::vector<Json*> open_;  // what is not closed yet; its last item alone changes
  Json* next_ = nullptr;     // what the last key stands for
  size_t values_ = 0;
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

Json parse_json(std::string_view text, const std::string& where, const JsonLimits& limits) {
  Builder builder(where, limits);
  try {
    if (has_python_numbers(text))
      nlohmann::json::sax_parse(without_python_numbers(text), &builder);
    else
      nlohmann::json::sax_parse(text, &builder);
  } catch (const nlohmann::json::exception& error) {
    throw FileFormatError(where + ": not sound JSON: " + error.what());
  }
  return std::move(builder.root);
}

Json parse_json(std::string_view text, const std::string& where, size_t stored) {
  return parse_json(text, where, {.values = kFreeJsonValues + stored / kJsonBytesPerValue});
}

Json shape_to_json(const Shape& shape) {
  Json list = Json::array();
  for (const int64_t size : shape) list.push_back(size == None ? Json() : Json(size));
  return list;
}

}  // namespace nyala
