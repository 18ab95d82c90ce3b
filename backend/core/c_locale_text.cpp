#include <nyala/backend/core/c_locale_text.h>

#include <algorithm>
#include <charconv>
#include <limits>

namespace nyala::detail {

namespace {

template <class T>
std::string shortest(T value) {
  char text[64];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

std::string written(double value, std::chars_format format, int digits) {
  constexpr int kBeforePoint = std::numeric_limits<double>::max_exponent10 + 16;
  std::string text(static_cast<size_t>(kBeforePoint + std::max(digits, 0)), '\0');
  const char* end = std::to_chars(text.data(), text.data() + text.size(), value, format, digits).ptr;
  text.resize(static_cast<size_t>(end - text.data()));
  return text;
}

}  // namespace

std::string number_text(double value) { return shortest(value); }
std::string number_text(float value) { return shortest(value); }

std::string fixed_text(double value, int decimals) {
  return written(value, std::chars_format::fixed, decimals);
}

std::string scientific_text(double value, int decimals) {
  return written(value, std::chars_format::scientific, decimals);
}

std::string general_text(double value, int digits) {
  return written(value, std::chars_format::general, digits);
}

std::optional<double> parse_number(std::string_view text) {
  double value = 0;
  const std::from_chars_result result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec != std::errc() || result.ptr != text.data() + text.size()) return {};
  return value;
}

std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = to_lower(c);
  return out;
}

std::string upper_case(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = to_upper(c);
  return out;
}

}  // namespace nyala::detail
