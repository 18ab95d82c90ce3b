#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include <nyala/tests/repo/forward_page.h>
#include <nyala/tests/repo/reference_page.h>
#include <nyala/tests/repo/source_tree.h>

namespace nyala::repo {
namespace {

std::string text_of(const std::string& path) {
  std::ifstream file(root() / path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Reference, IsWhatTheHeadersSay) {
  if (std::getenv("NYALA_WRITE_REFERENCE")) std::ofstream(root() / "docs/reference.md") << reference_page();
  EXPECT_TRUE(text_of("docs/reference.md") == reference_page())
      << "docs/reference.md is not up to date: NYALA_WRITE_REFERENCE=1 build/release/tests/test_repo "
         "--gtest_filter='Reference.*' writes it";
}

TEST(Reference, IsDeclaredInAHeaderOfNames) {
  if (std::getenv("NYALA_WRITE_REFERENCE")) std::ofstream(root() / "fwd.h") << forward_page();
  EXPECT_TRUE(text_of("fwd.h") == forward_page())
      << "fwd.h is not up to date: NYALA_WRITE_REFERENCE=1 build/release/tests/test_repo "
         "--gtest_filter='Reference.*' writes it";
  for (const char* name : {"class Conv2D;", "struct DenseConfig;", "class Model;", "class MirroredStrategy;"})
    EXPECT_NE(text_of("fwd.h").find(name), std::string::npos) << name;
}

/// The lists of names and the page find classes in different ways.
TEST(Reference, HasEveryListedClass) {
  static const std::regex list(R"(ClassList<([^>]*)>)"), word(R"(\w+)");
  const std::string page = text_of("docs/reference.md");
  int lists = 0;
  for (const SourceFile& file : cpp_files()) {
    std::smatch match;
    if (!file.path.ends_with("/all.h") || !std::regex_search(file.text, match, list)) continue;
    ++lists;
    const std::string names = match[1];
    for (std::sregex_iterator it(names.begin(), names.end(), word), end; it != end; ++it)
      EXPECT_NE(page.find("- `" + it->str() + "("), std::string::npos) << file.path << ": " << it->str();
  }
  EXPECT_GT(lists, 3);
}

/// Options of functions, and the pages that have them.
const std::map<std::string, std::string> kPagesOfFunctions = {{"LoraConfig", "docs/fine_tuning.md"}};

/// The line of a class; the page where the struct serves several.
std::string place_of(const std::string& config, const std::string& page) {
  if (const auto own = kPagesOfFunctions.find(config); own != kPagesOfFunctions.end())
    return text_of(own->second);
  const size_t line = page.find("- `" + config.substr(0, config.size() - 6) + "(");
  return line == std::string::npos ? page : page.substr(line, page.find('\n', line) - line);
}

TEST(Reference, HasEveryOption) {
  static const std::regex config(R"(struct (\w+Config) \{([^]*?)\n\};)");
  static const std::regex kinds(
      "^api/(layers|losses|metrics|optimizers|schedules|callbacks|initializers|regularizers|constraints)/");
  static const std::regex field(R"(\n  [\w:<>, ]+ (\w+) = )");
  const std::string page = text_of("docs/reference.md");
  int options = 0;
  for (const SourceFile& file : cpp_files()) {
    if (!is_header(file.path) || !std::regex_search(file.path, kinds)) continue;
    for (std::sregex_iterator it(file.text.begin(), file.text.end(), config), end; it != end; ++it) {
      const std::string body = (*it)[2], place = place_of((*it)[1], page);
      for (std::sregex_iterator f(body.begin(), body.end(), field); f != end; ++f, ++options) {
        if ((*f)[1] == "names_required") continue;
        EXPECT_NE(place.find("." + (*f)[1].str() + " = "), std::string::npos)
            << file.path << ": " << (*it)[1] << " " << (*f)[1];
      }
    }
  }
  EXPECT_GT(options, 500);
}

TEST(Reference, SaysWhatEveryClassIs) {
  for (const ReferenceGroup& group : reference_groups()) {
    EXPECT_FALSE(group.entries.empty()) << group.title;
    if (group.title == "Ops" || group.title.starts_with("Options of")) continue;  // some speak for themselves
    for (const ReferenceEntry& entry : group.entries)
      EXPECT_FALSE(entry.comment.empty()) << group.title << ": " << entry.call;
  }
}

TEST(Reference, ShowsDefaultsAsUsersWriteThem) {
  const std::string page = text_of("docs/reference.md");
  for (const char* internal : {"::none()", "Size<N>", "kKind == ", "numeric_limits"})
    EXPECT_EQ(page.find(internal), std::string::npos) << internal;
  EXPECT_NE(page.find("`MaxPooling2D(Size2D pool_size, {.pool_size = 2, .strides = {}"), std::string::npos);
  EXPECT_NE(page.find("`AveragePooling2D(Size2D pool_size, {.pool_size = {}, .strides = {}"),
            std::string::npos);
}

}  // namespace
}  // namespace nyala::repo
