#include <nyala/tools/options.h>

#include <charconv>
#include <cmath>
#include <functional>
#include <string>

#include <nyala/backend/core/c_locale_text.h>
#include <nyala/backend/core/error.h>

namespace nyala::tools {

namespace {

std::string unexpected(const std::string& expected, const std::string& text) {
  return "expected " + expected + ", received " + detail::in_quotes(text);
}

/// Whether all of `text` is a number, by the rules of the C locale.
template <typename Number>
bool reads(const std::string& text, Number& value) {
  const char* end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data(), end, value);
  return code == std::errc() && stop == end;
}

/// Whether all of `text` is a whole number that 64 bits cannot hold.
bool is_out_of_range(const std::string& text) {
  const char* end = text.data() + text.size();
  int64_t value = 0;
  const auto [stop, code] = std::from_chars(text.data(), end, value);
  return code == std::errc::result_out_of_range && stop == end;
}

}  // namespace

CLI::Option* repeated(CLI::Option* option) {
  return option->expected(1)->allow_extra_args(false)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

CLI::Option* sizes(CLI::Option* option, int most) {
  return option->delimiter(',')->expected(1, most)->allow_extra_args(false)->transform(whole_number(1));
}

CLI::Validator whole_number(int64_t least, int64_t most) {
  std::string expected = "a whole number of at least " + std::to_string(least);
  if (most != std::numeric_limits<int64_t>::max())
    expected = "a whole number from " + std::to_string(least) + " to " + std::to_string(most);
  const auto check = [=](std::string& text) -> std::string {
    int64_t value = 0;
    if (is_out_of_range(text))
      return unexpected("a whole number from " + std::to_string(least) + " to " + std::to_string(most),
                        text) +
             ", which is out of range";
    if (!reads(text, value) || value < least || value > most) return unexpected(expected, text);
    text = std::to_string(value);  // CLI11 would read "010" as an octal number
    return "";
  };
  return CLI::Validator(check, "");
}

namespace {

CLI::Validator number_where(const std::string& expected, const std::function<bool(double)>& holds) {
  return CLI::Validator(
      [=](const std::string& text) {
        double number = 0;
        return reads(text, number) && holds(number) ? std::string() : unexpected(expected, text);
      },
      "NUMBER");
}

}  // namespace

CLI::Validator number_from(double from, double to) {
  return number_where(
      "a number from " + detail::number_text(from) + " to less than " + detail::number_text(to),
      [=](double number) { return number >= from && number < to; });
}

CLI::Validator number_above(double from) {
  return number_where("a number above " + detail::number_text(from),
                      [=](double number) { return number > from && std::isfinite(number); });
}

void only_with(CLI::App& command, const char* other, std::initializer_list<const char*> options) {
  for (const char* name : options) command.get_option(name)->needs(command.get_option(other));
}

}  // namespace nyala::tools
