#pragma once

#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <nyala/datasets/io/data_file.h>

namespace nyala {

/// Exit status and standard output of examples/<name>.
struct ExampleRun {
  int status = -1;
  std::string output = {};
};

/// Where the program is, built or not.
inline std::filesystem::path example_path(const std::string& name) {
  return std::filesystem::path(NYALA_BINARY_DIR) / "examples" / name;
}

/// `command` in the shell's words.
inline ExampleRun run_command(const std::string& command) {
  ExampleRun run;
  FILE* pipe = ::popen(command.c_str(), "r");
  if (!pipe) return run;
  std::array<char, 4096> text{};
  while (const size_t count = std::fread(text.data(), 1, text.size(), pipe))
    run.output.append(text.data(), count);
  const int status = ::pclose(pipe);
  run.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return run;
}

/// `environment`: variables in the shell's words, "A=1 B=2".
inline ExampleRun run_example(const std::string& name, const std::string& arguments = "",
                              const std::string& environment = "") {
  return run_command(environment + " '" + example_path(name).string() + "' " + arguments);
}

inline bool has_fashion_mnist() {
  for (const char* file : {"train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz",
                           "t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz"})
    if (!datasets::find_data_file("fashion-mnist", file)) return false;
  return true;
}

/// Lets programs find these files, by folder and name, or skips the test that asks.
inline void needs_data(const std::vector<std::pair<std::string, std::string>>& files) {
  const char* chosen = std::getenv("NYALA_TEST_DATA");
  ::setenv("NYALA_DATA_DIR", chosen ? chosen : NYALA_TEST_DATA, 1);
  for (const auto& [folder, file] : files)
    if (!datasets::find_data_file(folder, file)) GTEST_SKIP() << file << " is not here (set NYALA_TEST_DATA)";
}

/// The first group of `pattern` in `text`; a failure where there is none.
inline double number(const std::string& text, const std::string& pattern) {
  std::smatch found;
  if (std::regex_search(text, found, std::regex(pattern))) return std::stod(found[1]);
  ADD_FAILURE() << "expected " << pattern << " in\n" << text;
  return 0;
}

}  // namespace nyala
