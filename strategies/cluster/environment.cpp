#include <nyala/strategies/cluster/environment.h>

#include <charconv>
#include <cstdlib>
#include <string_view>

#include <nyala/backend/core/error.h>

namespace nyala {

std::optional<std::string> Environment::get(const std::string& name) const {
  std::string value;
  if (!variables_) {
    if (const char* const text = std::getenv(name.c_str())) value = text;
  } else if (const auto found = variables_->find(name); found != variables_->end()) {
    value = found->second;
  }
  return value.empty() ? std::nullopt : std::optional(value);
}

namespace detail {

void throw_wrong_setting(const std::string& where, const std::string& expected, const std::string& received,
                         const std::string& hint) {
  throw InvalidArgumentError(where + ": expected " + expected + ", received " + received +
                             (hint.empty() ? "" : ". " + hint));
}

std::optional<int> parse_whole_number(std::string_view text, int low, int high) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && low <= number && number <= high ? std::optional(number) : std::nullopt;
}

std::string required_variable(const Environment& environment, const VariableRule& rule) {
  if (std::optional<std::string> value = environment.get(rule.name)) return *std::move(value);
  throw NotFoundError("the variable " + rule.name + " is not set" +
                      (rule.hint.empty() ? "" : ". " + rule.hint));
}

int required_number(const Environment& environment, const VariableRule& rule) {
  const std::string text = required_variable(environment, rule);
  if (const auto number = parse_whole_number(text, rule.low, rule.high)) return *number;
  throw_wrong_setting(rule.name,
                      "a whole number from " + std::to_string(rule.low) + " to " + std::to_string(rule.high),
                      in_quotes(text), rule.hint);
}

std::optional<int> optional_number(const Environment& environment, const VariableRule& rule) {
  return environment.has(rule.name) ? std::optional(required_number(environment, rule)) : std::nullopt;
}

}  // namespace detail

}  // namespace nyala
