#include <gtest/gtest.h>

#include <nyala/backend/core/printable.h>

namespace nyala {

namespace {

TEST(Printable, ControlCharactersAreWritten) {
  EXPECT_EQ(printable("dense_1"), "dense_1");
  EXPECT_EQ(printable("a\x1b[2Jb\r\x7f"), "a\\x1b[2Jb\\x0d\\x7f");
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(printable("two\nlines"), "two\\x0alines");
  EXPECT_EQ(printable("two\nlines\x1b", true), "two\nlines\\x1b");
}

TEST(Printable, OtherLettersStayAndCommandsInUtf8DoNot) {
  EXPECT_EQ(printable("schön ✓ \u00a0"), "schön ✓ \u00a0");
  EXPECT_EQ(printable("\xc2\x9b" "2J"), "\\x9b2J");
  EXPECT_EQ(printable("\xc2"), "\xc2");
}

}  // namespace

}  // namespace nyala
