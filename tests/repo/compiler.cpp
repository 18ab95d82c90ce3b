#include <nyala/tests/repo/compiler.h>

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace nyala {

bool there_is_a_compiler(const std::string& compiler) {
  return std::system((compiler + " --version > /dev/null 2>&1").c_str()) == 0;
}

std::string what_the_compiler_says(const std::string& source, const std::string& command) {
  const std::string name = "nyala_source_" + std::to_string(getpid()) + ".cpp";
  const std::string path = (std::filesystem::temp_directory_path() / name).string();
  std::ofstream(path) << source;
  const std::string line =
      "LC_ALL=C " + command + " -fsyntax-only -I" NYALA_BINARY_DIR "/include " + path + " 2>&1";
  std::FILE* const pipe = popen(line.c_str(), "r");
  std::string text;
  char buffer[4096];
  while (pipe && std::fgets(buffer, sizeof buffer, pipe)) text += buffer;
  if (pipe) pclose(pipe);
  std::filesystem::remove(path);
  return text;
}

}  // namespace nyala
