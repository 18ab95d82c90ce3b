#pragma once

#include <cstdint>
#include <initializer_list>
#include <limits>

#include <CLI/CLI.hpp>

namespace nyala::tools {

/// An option that may be given several times, with one value each: what follows the value is not its own.
CLI::Option* repeated(CLI::Option* option);

/// One argument of at most so many positive whole numbers with commas between them: "96,96".
CLI::Option* sizes(CLI::Option* option, int most);

/// A check, for transform(), of whole numbers written with decimal digits; says what is expected.
CLI::Validator whole_number(int64_t least, int64_t most = std::numeric_limits<int64_t>::max());

/// Checks of numbers n with from <= n < to, or from < n where `from` is not allowed itself. CLI11's own
/// ranges let "nan" pass.
CLI::Validator number_from(double from, double to);
CLI::Validator number_above(double from);

/// `options` do nothing unless `other` is given, too: without it they are errors.
void only_with(CLI::App& command, const char* other, std::initializer_list<const char*> options);

}  // namespace nyala::tools
