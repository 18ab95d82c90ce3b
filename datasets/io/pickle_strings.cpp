#include <nyala/datasets/io/pickle_strings.h>

#include <charconv>
#include <cstdint>

namespace nyala::datasets {

namespace {

/// The number that the next `count` digits write, which are passed over.
std::optional<uint32_t> digits(std::string_view& text, size_t count, int base) {
  if (text.size() < count) return std::nullopt;
  uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + count, value, base);
  if (error != std::errc() || end != text.data() + count) return std::nullopt;
  text.remove_prefix(count);
  return value;
}

/// The character behind a backslash, which is passed over with what belongs to it.
std::optional<char> escaped(std::string_view& text) {
  static constexpr std::string_view kLetters = "\\'\"abfnrtv", kMeanings = "\\'\"\a\b\f\n\r\t\v";
  if (text.empty()) return std::nullopt;
  const char letter = text.front();
  if (const size_t place = kLetters.find(letter); place != std::string_view::npos) {
    text.remove_prefix(1);
    return kMeanings[place];
  }
  if (letter == 'x') {
    text.remove_prefix(1);
    const std::optional<uint32_t> value = digits(text, 2, 16);
    return value ? std::optional(static_cast<char>(*value)) : std::nullopt;
  }
  size_t length = 0;
  while (length < 3 && length < text.size() && text[length] >= '0' && text[length] <= '7') ++length;
  if (length == 0) return std::nullopt;
  return static_cast<char>(*digits(text, length, 8));
}

void append_utf8(uint32_t code, std::string& out) {
  const auto put = [&](uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  const auto tail = [&](int shift) { put(0x80 | (code >> shift & 0x3f)); };
  if (code < 0x80) return put(code);
  if (code < 0x800) {
    put(0xc0 | code >> 6);
  } else if (code < 0x10000) {
    put(0xe0 | code >> 12);
    tail(6);
  } else {
    put(0xf0 | code >> 18);
    tail(12);
    tail(6);
  }
  tail(0);
}

}  // namespace

std::optional<std::string> unquoted(std::string_view repr) {
  if (repr.size() < 2 || repr.front() != repr.back() || (repr.front() != '\'' && repr.front() != '"'))
    return std::nullopt;
  std::string_view text = repr.substr(1, repr.size() - 2);
  std::string out;
  while (!text.empty()) {
    const char letter = text.front();
    text.remove_prefix(1);
    if (letter != '\\') {
      out.push_back(letter);
      continue;
    }
    const std::optional<char> meaning = escaped(text);
    if (!meaning) return std::nullopt;
    out.push_back(*meaning);
  }
  return out;
}

std::optional<std::string> from_raw_unicode_escape(std::string_view raw) {
  constexpr uint32_t kLargestCode = 0x10ffff;
  std::string out;
  while (!raw.empty()) {
    const auto letter = static_cast<unsigned char>(raw.front());
    raw.remove_prefix(1);
    const bool wide = raw.starts_with('U');
    if (letter != '\\' || !(wide || raw.starts_with('u'))) {
      append_utf8(letter, out);
      continue;
    }
    raw.remove_prefix(1);
    const std::optional<uint32_t> code = digits(raw, wide ? 8 : 4, 16);
    if (!code || *code > kLargestCode) return std::nullopt;
    append_utf8(*code, out);
  }
  return out;
}

}  // namespace nyala::datasets
