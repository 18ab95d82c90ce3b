// nlohmann's parser gives events, and the value is built here from them, under limits of depth and number of
// values: a value takes up to 64 bytes of memory, however short its text. Python's NaN and Infinity, which
// JSON lacks, become nulls in a copy of the text before, only where there are such words, and a list says
// what each null of the copy stands for.
#include <nyala/files/json/strict_json.h>

#include <limits>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <nyala/backend/core/error.h>
#include <nyala/files/json/json_text.h>

namespace nyala {

namespace {

/// What a null of the text that the parser is given was before.
enum class Null : char { null, nan, infinity, minus_infinity };

Json value_of(Null word) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  switch (word) {
    case Null::nan:
      return std::numeric_limits<double>::quiet_NaN();
    case Null::infinity:
      return kInfinity;
    case Null::minus_infinity:
      return -kInfinity;
    default:
      return {};
  }
}

/// Builds the value while the parser runs, so that a hostile text is left before it fills memory. The
/// library's own way to look at the parser's events goes over a list anew for each object in it.
class Builder final : public nlohmann::json_sax<nlohmann::json> {
 public:
  /// `nulls`: what those of the text stand for, in order; empty where all are null.
  Builder(const std::string& where, const JsonLimits& limits, std::vector<Null> nulls)
      : where_(where), limits_(limits), nulls_(std::move(nulls)) {}

  bool null() override { return put(next_null_ < nulls_.size() ? value_of(nulls_[next_null_++]) : Json()); }
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
    throw FileFormatError(where_ + ": not sound JSON: " + quoted_part(error.what()));
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
  const std::vector<Null> nulls_;
  size_t next_null_ = 0;
  std::vector<Json*> open_;  // what is not closed yet; its last item alone changes
  Json* next_ = nullptr;     // what the last key stands for
  size_t values_ = 0;
};

bool is_word(char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); }

bool has_python_numbers(std::string_view text) {
  return text.find("NaN") != std::string_view::npos || text.find("Infinity") != std::string_view::npos;
}

/// Python's names for what JSON has no number for, outside of strings, become null; `nulls` gets what each
/// null of the result stands for, no more of them than `most`.
std::string without_python_numbers(std::string_view text, size_t most, std::vector<Null>& nulls) {
  std::string out;
  const auto add_null = [&](Null stands_for) {
    out += "null";
    if (nulls.size() < most) nulls.push_back(stands_for);
  };
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') quoted = !quoted;
    if (quoted && text[i] == '\\' && i + 1 < text.size()) out += text[i++];
    if (!quoted && is_word(text[i])) {
      size_t end = i;
      while (end < text.size() && is_word(text[end])) ++end;
      const std::string_view word = text.substr(i, end - i);
      const bool negative = word == "Infinity" && out.ends_with('-');
      if (negative) out.pop_back();
      if (word == "NaN")
        add_null(Null::nan);
      else if (word == "Infinity")
        add_null(negative ? Null::minus_infinity : Null::infinity);
      else if (word == "null")
        add_null(Null::null);
      else
        out += word;
      i = end - 1;
    } else {
      out += text[i];
    }
  }
  return out;
}

}  // namespace

Json parse_json(std::string_view text, const std::string& where, const JsonLimits& limits) {
  const bool rewritten = has_python_numbers(text);
  std::vector<Null> nulls;
  const std::string json = rewritten ? without_python_numbers(text, limits.values, nulls) : std::string();
  Builder builder(where, limits, std::move(nulls));
  try {
    nlohmann::json::sax_parse(rewritten ? std::string_view(json) : text, &builder);
  } catch (const nlohmann::json::exception& error) {
    throw FileFormatError(where + ": not sound JSON: " + quoted_part(error.what()));
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
