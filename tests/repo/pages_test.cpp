#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <nyala/tests/repo/source_tree.h>

namespace nyala::repo {
namespace {

/// A C++ or Python block of a page. The comment line above it names the program that it is taken from.
struct Snippet {
  std::string page;
  std::string program;  ///< empty: no such comment
  std::vector<std::string> lines;
};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::vector<Snippet> snippets_of(const SourceFile& page) {
  static const std::regex marker(R"(^<!-- program: (\S+) -->$)");
  std::vector<Snippet> snippets;
  std::string program;
  bool inside = false;
  for (const std::string& line : lines_of(page.text)) {
    std::smatch match;
    if (inside && line.starts_with("```")) {
      inside = false;
    } else if (inside) {
      snippets.back().lines.push_back(line);
    } else if (std::regex_match(line, match, marker)) {
      program = match[1];
    } else if (line.starts_with("```cpp") || (line.starts_with("```python") && !program.empty())) {
      snippets.push_back({page.path, program, {}});
      program.clear();
      inside = true;
    }
  }
  return snippets;
}

/// The first line of `wanted` that does not follow, in order, in `lines`; empty when all do.
std::string first_missing(const std::vector<std::string>& wanted, const std::vector<std::string>& lines) {
  size_t at = 0;
  for (const std::string& line : wanted) {
    if (line.find_first_not_of(" \t") == std::string::npos) continue;
    while (at < lines.size() && lines[at] != line) ++at;
    if (at == lines.size()) return line;
    ++at;
  }
  return "";
}

const SourceFile* find_text(const std::string& path) {
  for (const SourceFile& file : text_files()) {
    if (file.path == path) return &file;
  }
  return nullptr;
}

TEST(Pages, SnippetsAreLinesOfCompiledPrograms) {
  int checked = 0;
  for (const SourceFile& page : text_files()) {
    if (!page.path.ends_with(".md")) continue;
    for (const Snippet& snippet : snippets_of(page)) {
      if (snippet.program.empty()) {
        EXPECT_NE(page.path, "README.md") << "a C++ block names no program";
        continue;
      }
      const SourceFile* program = find_text(snippet.program);
      ASSERT_NE(program, nullptr) << page.path << " names " << snippet.program << ", which is not there";
      EXPECT_EQ(first_missing(snippet.lines, lines_of(program->text)), "")
          << "is in " << page.path << ", but not at this place in " << snippet.program;
      ++checked;
    }
  }
  EXPECT_GT(checked, 0);
}

TEST(Pages, LinksToFilesOfTheRepositoryHold) {
  static const std::regex link(R"(\]\(([^)#\s]+)(#[^)]*)?\))");
  for (const SourceFile& page : text_files()) {
    if (!page.path.ends_with(".md")) continue;
    const auto folder = (root() / page.path).parent_path();
    for (std::sregex_iterator it(page.text.begin(), page.text.end(), link), end; it != end; ++it) {
      const std::string target = (*it)[1];
      if (target.find("://") != std::string::npos) continue;
      EXPECT_TRUE(std::filesystem::exists(folder / target)) << page.path << " links to " << target;
    }
  }
}

TEST(Pages, ReadmeNamesEveryPackageOfTheList) {
  const SourceFile* readme = find_text("README.md");
  const SourceFile* list = find_text("scripts/packages.txt");
  ASSERT_NE(readme, nullptr);
  ASSERT_NE(list, nullptr);
  int named = 0;
  for (const std::string& line : lines_of(list->text)) {
    const std::string package = line.substr(0, line.find_first_of(" #"));
    if (package.empty()) continue;
    EXPECT_NE(readme->text.find(package), std::string::npos) << package;
    ++named;
  }
  EXPECT_GT(named, 10);
}

TEST(Pages, NoPathsOfSomebodysMachine) {
  static const std::regex path(R"((^|[\s"'`=(:])/(home|root|Users|work|workspace|mnt|srv)/)");
  for (const SourceFile& file : text_files()) {
    for (const std::string& line : lines_of(file.text)) {
      if (line.size() > 2000) continue;  // captured data
      EXPECT_FALSE(std::regex_search(line, path)) << file.path << ": " << line;
    }
  }
}

TEST(Pages, NothingIsLeftToDo) {
  static const std::regex open_end(R"(\b(TODO|FIXME|XXX|HACK)\b)");
  for (const SourceFile& file : cpp_files()) {
    if (lies_in(file.path, "tests/repo")) continue;
    EXPECT_FALSE(std::regex_search(file.text, open_end)) << file.path;
  }
}

}  // namespace
}  // namespace nyala::repo
