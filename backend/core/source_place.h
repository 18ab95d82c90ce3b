#pragma once

namespace nyala {

/// A line of source: std::source_location, which clang has from its version 16 on only.
struct SourcePlace {
  const char* file;
  int line;

  /// As a default argument: where the function is called that has it.
  static constexpr SourcePlace here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {file, line};
  }
};

}  // namespace nyala
