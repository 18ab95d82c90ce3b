// Python's format specifications for numbers (fill, align, sign, 0, width, precision, type: "Format
// Specification Mini-Language"), for file names like "{epoch:02d}-{val_loss:.2f}.keras", and repr of a float:
// the shortest digits that read back as the same number (std::to_chars), with an exponent below 1e-4 and from
// 1e16.
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <optional>

#include <nyala/api/base/output.h>
#include <nyala/api/callbacks/base/python_text.h>
#include <nyala/backend/core/c_locale_text.h>
#include <nyala/backend/core/error.h>

namespace nyala {

using namespace nyala::detail;

namespace {

/// The parts of a format specification.
struct Format {
  char fill = ' ';
  char align = 0;  // 0: right
  char sign = '-';
  int width = 0;
  int precision = -1;
  char type = 0;
};

bool is_align(char c) { return c == '<' || c == '>' || c == '^' || c == '='; }

int take_number(const std::string& text, size_t& i) {
  int number = 0;
  while (i < text.size() && text[i] >= '0' && text[i] <= '9' && number < 1000)
    number = number * 10 + (text[i++] - '0');
  return number;
}

Format parse_format(const std::string& spec, const std::string& pattern) {
  Format format;
  size_t i = 0;
  if (spec.size() > 1 && is_align(spec[1]))
    format.fill = spec[0], format.align = spec[1], i = 2;
  else if (!spec.empty() && is_align(spec[0]))
    format.align = spec[0], i = 1;
  if (i < spec.size() && (spec[i] == '+' || spec[i] == '-' || spec[i] == ' ')) format.sign = spec[i++];
  if (i < spec.size() && spec[i] == '0') {
    ++i;
    if (!format.align) format.fill = '0', format.align = '=';
  }
  format.width = take_number(spec, i);
  if (i < spec.size() && spec[i] == '.') format.precision = take_number(spec, ++i);
  if (i < spec.size()) format.type = spec[i++];
  if (i != spec.size() || (format.type && std::string("deEfFgG%").find(format.type) == std::string::npos))
    throw InvalidArgumentError("file name '" + pattern + "': format '" + spec + "' is not understood");
  return format;
}

/// sign, then digits, padded to the width.
std::string padded(const std::string& sign, const std::string& digits, const Format& format) {
  const size_t length = sign.size() + digits.size(), width = static_cast<size_t>(format.width);
  if (length >= width) return sign + digits;
  const size_t missing = width - length;
  const auto fill = [&](size_t count) { return std::string(count, format.fill); };
  switch (format.align) {
    case '<':
      return sign + digits + fill(missing);
    case '^':
      return fill(missing / 2) + sign + digits + fill(missing - missing / 2);
    case '=':
      return sign + fill(missing) + digits;
    default:
      return fill(missing) + sign + digits;
  }
}

std::string printed(double magnitude, const Format& format) {
  if (!format.type && format.precision < 0) return python_repr(magnitude);
  const double scaled = format.type == '%' ? magnitude * 100.0 : magnitude;
  const char type = format.type == '%' ? 'f' : format.type ? format.type : 'g';
  const int precision = format.precision < 0 ? 6 : format.precision;
  const std::string text = to_lower(type) == 'f'   ? fixed_text(scaled, precision)
                           : to_lower(type) == 'e' ? scientific_text(scaled, precision)
                                                   : general_text(scaled, precision);
  return (is_upper(type) ? upper_case(text) : text) + (format.type == '%' ? "%" : "");
}

std::string format_number(double value, bool integer, const Format& format, const std::string& pattern) {
  if (format.type == 'd' && !integer)
    throw InvalidArgumentError("file name '" + pattern + "': format 'd' takes whole numbers only, received " +
                               python_repr(value));
  const bool negative = std::signbit(value) && !std::isnan(value);
  const std::string sign = negative ? "-" : format.sign == '-' ? "" : std::string(1, format.sign);
  const double magnitude = std::abs(value);
  const bool whole = integer && (format.type == 'd' || !format.type);
  return padded(sign, whole ? std::to_string(static_cast<int64_t>(magnitude)) : printed(magnitude, format),
                format);
}

/// The digits and the decimal exponent of "d.ddde+xx".
std::string with_exponent(const std::string& digits, int exponent) {
  std::string text = digits.substr(0, 1);
  if (digits.size() > 1) text += "." + digits.substr(1);
  const std::string number = std::to_string(std::abs(exponent));
  return text + "e" + (exponent < 0 ? "-" : "+") + (number.size() < 2 ? "0" : "") + number;
}

std::string without_exponent(const std::string& digits, int exponent) {
  const int count = static_cast<int>(digits.size());
  if (exponent < 0) return "0." + std::string(static_cast<size_t>(-exponent - 1), '0') + digits;
  if (count <= exponent + 1)
    return digits + std::string(static_cast<size_t>(exponent + 1 - count), '0') + ".0";
  return digits.substr(0, static_cast<size_t>(exponent + 1)) + "." +
         digits.substr(static_cast<size_t>(exponent + 1));
}

}  // namespace

std::string detail::python_repr(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char buffer[40];
  const auto end =
      std::to_chars(buffer, buffer + sizeof(buffer), std::abs(value), std::chars_format::scientific).ptr;
  const std::string shortest(buffer, end);
  const size_t e = shortest.find('e');
  std::string digits = shortest.substr(0, 1);
  if (e > 1) digits += shortest.substr(2, e - 2);
  const int exponent = std::atoi(shortest.c_str() + e + 1);
  const std::string sign = std::signbit(value) ? "-" : "";
  return sign + (exponent < -4 || exponent >= 16 ? with_exponent(digits, exponent)
                                                 : without_exponent(digits, exponent));
}

std::string detail::format_path(const std::string& pattern, const std::map<std::string, int64_t>& integers,
                        const Logs& logs) {
  std::string text;
  for (size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (c != '{' && c != '}') {
      text += c;
    } else if (i + 1 < pattern.size() && pattern[i + 1] == c) {
      text += c, ++i;
    } else {
      const size_t close = pattern.find('}', i);
      if (c == '}' || close == std::string::npos)
        throw InvalidArgumentError("file name '" + pattern + "': single '" + std::string(1, c) + "'");
      const std::string field = pattern.substr(i + 1, close - i - 1);
      const size_t colon = field.find(':');
      const std::string name = field.substr(0, colon);
      const Format format = parse_format(colon == std::string::npos ? "" : field.substr(colon + 1), pattern);
      const auto integer = integers.find(name);
      if (integer == integers.end() && !logs.contains(name)) {
        std::vector<std::string> names = {"epoch", "batch"};
        for (const auto& value : logs) names.push_back(value.first);
        throw NotFoundError("Failed to format this callback filepath: \"" + pattern + "\". Reason: " +
                            in_quotes(name) + " is not among the logs" + did_you_mean(name, names));
      }
      const bool is_integer = integer != integers.end();
      text += format_number(is_integer ? static_cast<double>(integer->second) : logs[name], is_integer,
                            format, pattern);
      i = close;
    }
  }
  return text;
}

void detail::print_message(const std::string& line) { print(line + "\n"); }

}  // namespace nyala
