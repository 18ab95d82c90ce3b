#include <regex>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <nyala/tests/repo/source_tree.h>

namespace nyala::repo {
namespace {

/// The ops that headers of backend/ops declare: "kAdd".
std::vector<std::string> declared_ops() {
  static const std::regex declaration("extern const OpDef ([^;]+);"), name("k\\w+");
  std::vector<std::string> found;
  for (const SourceFile& file : cpp_files()) {
    if (!lies_in(file.path, "backend/ops") || !is_header(file.path)) continue;
    const std::string text = code_only(file.text);
    for (std::sregex_iterator it(text.begin(), text.end(), declaration), end; it != end; ++it) {
      const std::string names = (*it)[1];
      for (std::sregex_iterator op(names.begin(), names.end(), name); op != end; ++op)
        found.push_back(op->str());
    }
  }
  return found;
}

TEST(OpsInFiles, EachOpHasARowOrAReasonWhyItHasNone) {
  // Gradients and updates have their reason by their names.
  static const std::regex by_name("k\\w*(Gradient|Backward|Update)\\w*");
  std::string tables;
  for (const SourceFile& file : cpp_files())
    if (lies_in(file.path, "api/saving/ops")) tables += code_only(file.text);
  const std::vector<std::string> declared = declared_ops();
  EXPECT_GT(declared.size(), 200u);
  for (const std::string& op : declared) {
    if (std::regex_match(op, by_name)) continue;
    const std::regex named("&ops::" + op + "\\b");
    EXPECT_TRUE(std::regex_search(tables, named))
        << op << ": a row in api/saving/ops, or a reason in its unsupported.cpp";
  }
}

}  // namespace
}  // namespace nyala::repo
