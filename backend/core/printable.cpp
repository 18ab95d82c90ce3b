#include <nyala/backend/core/printable.h>

namespace nyala {

namespace {

std::string escaped(unsigned char c) {
  const char* const digits = "0123456789abcdef";
  return {'\\', 'x', digits[c >> 4], digits[c & 15]};
}

}  // namespace

std::string printable(std::string_view text, bool keep_lines) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const unsigned char c = static_cast<unsigned char>(text[i]);
    const unsigned char next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0;
    if (keep_lines && (c == '\n' || c == '\t')) {
      out += text[i];
    } else if (c < 0x20 || c == 0x7f) {
      out += escaped(c);
    } else if (c == 0xc2 && next >= 0x80 && next < 0xa0) {  // U+0080 to U+009F in UTF-8: the same commands
      out += escaped(next);
      ++i;
    } else {
      out += text[i];
    }
  }
  return out;
}

}  // namespace nyala
