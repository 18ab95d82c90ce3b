#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

namespace nyala::examples {

/// What follows `name` on the command line, or `otherwise`.
inline std::string text_argument(int argc, char** argv, const std::string& name,
                                 const std::string& otherwise) {
  for (int i = 1; i + 1 < argc; ++i)
    if (argv[i] == name) return argv[i + 1];
  return otherwise;
}

inline int64_t number_argument(int argc, char** argv, const std::string& name, int64_t otherwise) {
  const std::string text = text_argument(argc, argv, name, "");
  return text.empty() ? otherwise : std::atoll(text.c_str());
}

inline bool has_argument(int argc, char** argv, const std::string& name) {
  for (int i = 1; i < argc; ++i)
    if (argv[i] == name) return true;
  return false;
}

/// Ends the program with a usage line unless the first arguments are `count` paths.
inline void expect_paths(int argc, char** argv, int count, const char* what) {
  for (int i = 1; i <= count; ++i)
    if (i >= argc || argv[i][0] == '-') {
      std::fprintf(stderr, "usage: %s %s\n", argv[0], what);
      std::exit(2);
    }
}

}  // namespace nyala::examples
