#pragma once

#include <optional>
#include <string>
#include <string_view>

/// Numbers and letters as text in the C locale, whatever locale the program has chosen (a decimal comma,
/// groups of thousands, a Turkish i): std::to_string of floating numbers, printf, streams, strtod and tolower
/// follow it.
namespace nyala::detail {

/// The shortest text that reads back as the same number: "0.1", "2", "1e-05", "nan".
std::string number_text(double value);
std::string number_text(float value);

/// printf's "%.*f", "%.*e" and "%.*g".
std::string fixed_text(double value, int decimals);
std::string scientific_text(double value, int decimals);
std::string general_text(double value, int digits);

/// The number that the whole text is, without spaces; none where it is something else or out of range.
std::optional<double> parse_number(std::string_view text);

/// Letters are A to Z and a to z only.
constexpr bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
constexpr bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
constexpr bool is_letter(char c) { return is_upper(c) || is_lower(c); }
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr char to_lower(char c) { return is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c; }
constexpr char to_upper(char c) { return is_lower(c) ? static_cast<char>(c - 'a' + 'A') : c; }
std::string lower_case(std::string_view text);
std::string upper_case(std::string_view text);

}  // namespace nyala::detail
