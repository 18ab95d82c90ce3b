#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <nyala/tests/repo/declarations.h>

namespace nyala::repo {
namespace {

TEST(Declarations, HaveTheirNamespaceBodyAndComment) {
  const std::vector<Declaration> found = declarations_of(R"(#pragma once
namespace a::b {

/// Of all.
int first(const std::string& text = "};//", int more = 3);  // not this
int second();
/// Only
/// of this.
int third() { return '}' + 1'000; }

struct Options {
  /// Inside.
  int size = 0;
};

}  // namespace a::b
using Outside = int;
)");
  ASSERT_EQ(found.size(), 5U);
  EXPECT_EQ(found[0].head, R"(int first(const std::string& text = "};//", int more = 3))");
  EXPECT_EQ(found[0].comment, "Of all.");
  EXPECT_EQ(found[1].comment, "Of all.");
  EXPECT_EQ(found[2].comment, "Only of this.");
  EXPECT_EQ(found[2].space, "a::b");
  EXPECT_EQ(found[3].head, "struct Options");
  EXPECT_EQ(plain_code(found[3].body), "int size = 0;");
  EXPECT_EQ(found[3].comment, "");
  EXPECT_EQ(found[4].space, "");
}

}  // namespace
}  // namespace nyala::repo
