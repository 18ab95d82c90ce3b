#pragma once

#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace nyala {

/// Where a ClusterResolver looks variables up: in the environment of the process, or in a map in its place
/// (`{.environment = {{"TF_CONFIG", text}}}`), so that nothing has to be set for all of a program.
class Environment {
 public:
  using Variables = std::map<std::string, std::string>;

  /// That of the process, asked at each get().
  Environment() = default;
  Environment(std::initializer_list<Variables::value_type> variables) : variables_(variables) {}
  static Environment of(Variables variables) {
    Environment environment;
    environment.variables_ = std::move(variables);
    return environment;
  }

  /// None where it is not set or empty.
  std::optional<std::string> get(const std::string& name) const;
  bool has(const std::string& name) const { return get(name).has_value(); }

 private:
  std::optional<Variables> variables_;
};

namespace detail {

/// What a variable has to hold, for the message where it does not.
struct VariableRule {
  std::string name;
  int low = 0, high = 0;  ///< of a number
  std::string hint = {};  ///< a sentence, what to do
};

/// Throws InvalidArgumentError "<where>: expected <expected>, received <received>. <hint>".
[[noreturn]] void throw_wrong_setting(const std::string& where, const std::string& expected,
                                      const std::string& received, const std::string& hint = "");

/// The whole number that the text is, between low and high; else none.
std::optional<int> parse_whole_number(std::string_view text, int low, int high);

/// Throws NotFoundError naming the variable and the hint where it is not set.
std::string required_variable(const Environment& environment, const VariableRule& rule);
/// Throws InvalidArgumentError as well, where it is no whole number between low and high.
int required_number(const Environment& environment, const VariableRule& rule);
/// None where it is not set.
std::optional<int> optional_number(const Environment& environment, const VariableRule& rule);

}  // namespace detail

}  // namespace nyala
