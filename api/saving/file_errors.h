#pragma once

#include <string>
#include <utility>

namespace nyala {

/// Inside a catch block: throws the current exception again, so that it names `file`. An Error whose text
/// does not hold the path gets it in front; what the JSON library throws becomes a FileFormatError. Others go
/// on as they are.
[[noreturn]] void rethrow_naming(const std::string& file);

/// Runs f, which reads `file`: what a file causes names the file.
template <class F>
decltype(auto) naming_file(const std::string& file, F&& f) {
  try {
    return std::forward<F>(f)();
  } catch (...) {
    rethrow_naming(file);
  }
}

}  // namespace nyala
