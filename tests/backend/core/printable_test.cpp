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
}

TEST(Printable, BytesThatAreNoUtf8AreWritten) {
  EXPECT_EQ(printable("\xc2"), "\\xc2");
  EXPECT_EQ(printable("\x9b"
                      "2J"),
            "\\x9b2J");
  EXPECT_EQ(printable("a\xc0\x9b"), "a\\xc0\\x9b");  // ESC's neighbour, written too long
  EXPECT_EQ(printable("\xe0\x80\x9b|\xed\xa0\x80|"), "\\xe0\\x80\\x9b|\\xed\\xa0\\x80|");
  EXPECT_EQ(printable("\xf4\x90\x80\x80\xff"), "\\xf4\\x90\\x80\\x80\\xff");
  EXPECT_EQ(printable("\U0001f60a\u4e2d"), "\U0001f60a\u4e2d");
  EXPECT_EQ(printable("\xf0\x9f\x98", true), "\\xf0\\x9f\\x98");
}

}  // namespace

}  // namespace nyala
