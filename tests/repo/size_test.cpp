#include <algorithm>
#include <iostream>
#include <regex>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <nyala/tests/repo/function_scan.h>
#include <nyala/tests/repo/source_tree.h>

namespace nyala::repo {
namespace {

constexpr int kMaxFileLines = 800;
constexpr int kSoftFileLines = 400;
constexpr int kMaxFunctionLines = 80;
constexpr int kMaxColumns = 110;

int columns_of(std::string_view line) {  // of UTF-8
  return static_cast<int>(std::count_if(
      line.begin(), line.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

TEST(Size, FilesAreAtMost800Lines) {
  std::vector<int> lines;
  int above_soft = 0;
  for (const SourceFile& file : cpp_files()) {
    lines.push_back(count_lines(file.text));
    above_soft += lines.back() > kSoftFileLines ? 1 : 0;
    EXPECT_LE(lines.back(), kMaxFileLines) << file.path;
  }
  ASSERT_FALSE(lines.empty());
  std::nth_element(lines.begin(), lines.begin() + static_cast<long>(lines.size() / 2), lines.end());
  std::cout << lines.size() << " files, median " << lines[lines.size() / 2] << " lines, " << above_soft
            << " above the soft limit of " << kSoftFileLines << "\n";
}

TEST(Size, FunctionsAreAtMost80Lines) {
  std::vector<int> lines;
  for (const SourceFile& file : cpp_files()) {
    for (const FunctionExtent& function : functions_of(code_only(file.text))) {
      lines.push_back(function.lines());
      EXPECT_LE(function.lines(), kMaxFunctionLines) << file.path << ":" << function.first_line;
    }
  }
  ASSERT_FALSE(lines.empty());
  std::nth_element(lines.begin(), lines.begin() + static_cast<long>(lines.size() / 2), lines.end());
  std::cout << lines.size() << " functions, median " << lines[lines.size() / 2] << " lines\n";
}

/// But for what is not to be formatted, and texts that cannot be cut.
TEST(Size, LinesAreAtMost110Columns) {
  for (const SourceFile& file : cpp_files()) {
    std::istringstream lines(file.text);
    bool formatted = true;
    int number = 0;
    for (std::string line; std::getline(lines, line);) {
      ++number;
      if (line.find("// clang-format off") != std::string::npos) formatted = false;
      if (line.find("// clang-format on") != std::string::npos) formatted = true;
      if (!formatted || line.find("R\"") != std::string::npos) continue;
      EXPECT_LE(columns_of(line), kMaxColumns) << file.path << ":" << number;
    }
  }
}

TEST(FunctionScan, FindsFunctionsAndOnlyThese) {
  const std::string code = R"(
namespace a {
struct S {
  int x = 3;
  S(int y) : x{y}, z{
      1} {
    x = 1;
  }
  int f(Config c = {}) const { return 1; }
  int z{2};
};
const int kTable[] = {
  1,
  2};
enum class E { a, b };
template <class T>
void g(const T& t,
       int n) {
  if (n) {
    auto h = [&] { return 1; };
  }
}
auto k = [](int i) {
  return i;
};
}
)";
  const auto functions = functions_of(code_only(code));
  ASSERT_EQ(functions.size(), 4u);
  EXPECT_EQ(functions[0].first_line, 5);
  EXPECT_EQ(functions[0].last_line, 8);
  EXPECT_EQ(functions[1].lines(), 1);
  EXPECT_EQ(functions[2].first_line, 16);
  EXPECT_EQ(functions[2].lines(), 7);
  EXPECT_EQ(functions[3].lines(), 3);
}

TEST(FunctionScan, LooksThroughCommentsAndLiterals) {
  const std::string code =
      "void f() {\n  // }\n  auto s = \"}\"; char c = '}'; /* } */ int n = 1'000;\n"
      "  auto r = R\"x(}\n)\")x\";\n#define A }\n}\nvoid g() {}\n";
  const auto functions = functions_of(code_only(code));
  ASSERT_EQ(functions.size(), 2u);
  EXPECT_EQ(functions[0].lines(), 7);
  EXPECT_EQ(functions[1].lines(), 1);
}

TEST(Style, NoMacrosInPublicHeadersAndNoUsingNamespaceInHeaders) {
  static const std::regex macro(R"((^|\n)[ \t]*#[ \t]*define\b(?![ \t]+NYALA_VERSION_))");
  static const std::regex using_namespace(R"(\busing\s+namespace\b)");
  for (const SourceFile& file : cpp_files()) {
    if (!is_header(file.path) || lies_in(file.path, "tests")) continue;
    EXPECT_FALSE(std::regex_search(file.text, macro)) << file.path << " defines a macro";
    EXPECT_FALSE(std::regex_search(code_only(file.text), using_namespace))
        << file.path << " says using namespace";
  }
}

}  // namespace
}  // namespace nyala::repo
