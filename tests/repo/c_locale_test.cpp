// What follows the locale of a program that uses Nyala (backend/core/c_locale_text.h has the same without
// it).
#include <regex>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include <nyala/tests/repo/source_tree.h>

namespace nyala::repo {
namespace {

TEST(CLocale, NothingThatFollowsTheLocaleIsCalled) {
  static const std::regex forbidden(
      R"(\b(stod|stof|stold|strtod|strtof|strtold|atof|s?n?printf|sscanf|fscanf|setprecision|put_money|put_time)\s*\()"
      R"(|std::(tolower|toupper|isalpha|isalnum|isdigit|isupper|islower|isspace|ispunct|isprint)\b|std::fixed\b)"
      R"(|std::scientific\b)");
  for (const SourceFile& file : cpp_files()) {
    const bool ours = lies_in(file.path, "backend") || lies_in(file.path, "datasets") ||
                      lies_in(file.path, "strategies") || lies_in(file.path, "api") ||
                      lies_in(file.path, "models") || lies_in(file.path, "tools");
    if (!ours) continue;
    std::istringstream code(code_only(file.text));
    int number = 0;
    for (std::string line; std::getline(code, line);) {
      ++number;
      EXPECT_FALSE(std::regex_search(line, forbidden)) << file.path << ":" << number << ": " << line;
    }
  }
}

}  // namespace
}  // namespace nyala::repo
