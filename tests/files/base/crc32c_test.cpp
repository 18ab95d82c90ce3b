#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include <nyala/files/base/crc32c.h>
#include <nyala/tests/backend/runtime/crc_by_definition.h>

namespace nyala {
namespace {

constexpr uint32_t kPolynomial = 0x82f63b78;

std::vector<std::byte> random_bytes(size_t size) {
  std::mt19937 random(7);
  std::vector<std::byte> bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

TEST(Crc32c, ValuesOfRfc3720) {
  const std::vector<std::byte> zeros(32), ones(32, std::byte{0xff});
  EXPECT_EQ(crc32c(0, zeros), 0x8a9136aau);
  EXPECT_EQ(crc32c(0, ones), 0x62a8ab43u);
  const char* text = "123456789";
  EXPECT_EQ(crc32c(0, std::as_bytes(std::span(text, 9))), 0xe3069283u);
  EXPECT_EQ(crc32c_by_tables(0, std::as_bytes(std::span(text, 9))), 0xe3069283u);
}

TEST(Crc32c, BothWaysFollowTheDefinition) {
  const std::vector<std::byte> bytes = random_bytes(20'000);
  for (const size_t size : {0, 1, 7, 8, 9, 63, 3071, 3072, 3073, 3080, 6144, 9999}) {
    for (const size_t begin : {0, 1, 5}) {
      const auto part = std::span(bytes).subspan(begin, size);
      ASSERT_EQ(crc32c(12345, part), crc_by_definition(kPolynomial, 12345, part)) << size;
      ASSERT_EQ(crc32c_by_tables(12345, part), crc_by_definition(kPolynomial, 12345, part)) << size;
    }
  }
}

TEST(Crc32c, GoesOnWhereItEnded) {
  const std::vector<std::byte> bytes = random_bytes(50'000);
  uint32_t crc = 0;
  for (size_t begin = 0; begin < bytes.size(); begin += 7001)
    crc = crc32c(crc, std::span(bytes).subspan(begin, std::min<size_t>(7001, bytes.size() - begin)));
  EXPECT_EQ(crc, crc32c(0, bytes));
}

}  // namespace
}  // namespace nyala
