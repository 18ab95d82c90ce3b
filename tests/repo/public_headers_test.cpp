// What a program may use: nothing but the standard library stands in installed headers, and what they declare
// outside of `detail` is in the reference.
#include <nyala/tests/repo/public_headers.h>

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include <nyala/tests/repo/reference_page.h>
#include <nyala/tests/repo/source_tree.h>

namespace nyala::repo {
namespace {

TEST(PublicHeaders, IncludeTheStandardLibraryOnly) {
  EXPECT_GT(public_headers().size(), 400u);
  EXPECT_FALSE(public_headers().contains("files/json/strict_json.h"));
  for (const SourceFile& file : cpp_files()) {
    if (!public_headers().contains(file.path)) continue;
    for (const Include& include : includes_of(file)) {
      if (include.header.starts_with("nyala/") || file.path == "api/eigen.h") continue;
      EXPECT_TRUE(include.header.find_first_of("/.") == std::string::npos)
          << file.path << " includes <" << include.header << ">, which a program need not have";
    }
  }
}

/// A function that no page explains is a helper: it belongs into `detail`.
TEST(PublicHeaders, EveryFunctionOutsideOfDetailIsExplained) {
  const std::vector<ReferenceGroup> groups = reference_groups();
  const auto functions = std::find_if(groups.begin(), groups.end(),
                                      [](const ReferenceGroup& group) { return group.title == "Functions"; });
  ASSERT_NE(functions, groups.end());
  EXPECT_GT(functions->entries.size(), 50u);
  for (const ReferenceEntry& entry : functions->entries) EXPECT_FALSE(entry.comment.empty()) << entry.call;
}

}  // namespace
}  // namespace nyala::repo
