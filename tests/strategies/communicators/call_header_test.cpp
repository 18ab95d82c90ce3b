#include <nyala/strategies/communicators/call_header.h>

#include <gtest/gtest.h>

namespace nyala::detail {
namespace {

TEST(CallHeader, ALongNameIsShownByItsBeginningAndItsEnd) {
  const std::string begin = "read 7 of 'a metric whose ", end = " name is long', resets 1";
  CallHeader header{.kind = CollectiveKind::barrier}, other = header;
  header.set_what(begin + std::string(60, 'x') + end);
  other.set_what(begin + std::string(60, 'x') + end + "2");
  EXPECT_EQ(call_text(header), "barrier 'read 7 of 'a metric whose ...xxx name is long', resets 1'");
  EXPECT_NE(call_text(header), call_text(other));
  EXPECT_FALSE(same_call(header, other));
  header.set_what(std::string(56, 'y'));
  EXPECT_EQ(call_text(header), "barrier '" + std::string(56, 'y') + "'");
}

}  // namespace
}  // namespace nyala::detail
