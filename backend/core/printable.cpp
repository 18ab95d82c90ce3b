#include <nyala/backend/core/printable.h>

namespace nyala {

namespace {

void append_escaped(std::string& out, std::string_view bytes) {
  const char* const digits = "0123456789abcdef";
  for (const char byte : bytes) {
    const auto c = static_cast<unsigned char>(byte);
    out += {'\\', 'x', digits[c >> 4], digits[c & 15]};
  }
}

/// Bytes of the character of UTF-8 (RFC 3629) that `text` begins with; 0 where it begins with none.
size_t character_length(std::string_view text) {
  const auto at = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const unsigned first = at(0);
  if (first < 0x80) return 1;
  const size_t length = first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
  for (size_t i = 1; i < length; ++i)
    if ((at(i) & 0xc0) != 0x80) return 0;
  // Written longer than needed, a half of UTF-16's pairs, beyond the last character.
  const bool wrong = (first == 0xe0 && at(1) < 0xa0) || (first == 0xed && at(1) >= 0xa0) ||
                     (first == 0xf0 && at(1) < 0x90) || (first == 0xf4 && at(1) >= 0x90);
  return wrong ? 0 : length;
}

}  // namespace

std::string printable(std::string_view text, bool keep_lines) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const auto c = static_cast<unsigned char>(text[0]);
    const size_t length = character_length(text);
    // U+0080 to U+009F are the same commands as those of one byte behind an escape.
    const bool commands =
        c < 0x20 || c == 0x7f || (length == 2 && c == 0xc2 && static_cast<unsigned char>(text[1]) < 0xa0);
    if (keep_lines && (c == '\n' || c == '\t')) {
      out += text[0];
    } else if (length == 0) {
      append_escaped(out, text.substr(0, 1));
    } else if (commands) {
      append_escaped(out, text.substr(length - 1, 1));
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out;
}

}  // namespace nyala
