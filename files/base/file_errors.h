#pragma once

#include <string>
#include <utility>

namespace nyala {

class Error;

/// Throws what the system's error `code` (errno) says of `what`, which names the file: "`what`: reason".
/// OutOfMemoryError where memory ran out, else IoError; a file that may not grow gets a hint.
[[noreturn]] void throw_file_error(const std::string& what, int code);

/// `path`. Throws InvalidArgumentError for one with a NUL byte, where the system would take it to end.
/// Whoever opens, makes or looks for a file or folder that a user named asks this first.
const std::string& checked_path(const std::string& path);

/// Whether something lies at `path`, and whether that is a file, by whatever links. Throw IoError where
/// nobody can look (a folder without permission, a circle of links, a name that is too long).
bool is_there(const std::string& path);
bool is_file(const std::string& path);

/// Inside a catch block: throws the current exception again, so that it names `file`. An Error whose text
/// does not hold the path gets it in front. Others go on as they are.
[[noreturn]] void rethrow_naming(const std::string& file);

/// Inside a catch block: throws `error`, the current exception, again where it says that memory ran out, for
/// which no file is to blame.
void let_out_of_memory_pass(const Error& error);

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
