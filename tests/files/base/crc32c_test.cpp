#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include <nyala/files/base/crc32c.h>
#include <nyala/files/base/crc_folding.h>
#include <nyala/tests/backend/runtime/crc_by_definition.h>

namespace nyala::crc32c_test {
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
}

TEST(Crc32c, EveryWayFollowsTheDefinition) {
  const std::vector<std::byte> bytes = random_bytes(10'000);
  for (const uint32_t polynomial : {kPolynomial, 0xedb88320u}) {
    const Crc crc = crc_of(polynomial);
    for (const CrcWay way : {CrcWay::folding_512_bits, CrcWay::folding_128_bits, CrcWay::tables}) {
      if (!has_crc_way(way)) continue;
      for (const size_t size :
           {0, 1, 8, 63, 64, 65, 80, 127, 255, 256, 257, 319, 320, 512, 521, 1024, 9999}) {
        const auto part = std::span(bytes).subspan(size % 2, size);  // not aligned
        ASSERT_EQ(crc_of_bytes(crc, 12345, part, way), crc_by_definition(polynomial, 12345, part))
            << size << " bytes, way " << static_cast<int>(way);
      }
    }
  }
}

/// Of the paper whose constants these are.
TEST(Crc32c, ShiftsArePowersOfX) {
  constexpr CrcShift shift = crc_shift(0xedb88320, 512);
  EXPECT_EQ(shift.low, 0x154442bd4u);
  EXPECT_EQ(shift.high, 0x1c6e41596u);
}

TEST(Crc32c, GoesOnWhereItEnded) {
  const std::vector<std::byte> bytes = random_bytes(50'000);
  uint32_t crc = 0;
  for (size_t begin = 0; begin < bytes.size(); begin += 7001)
    crc = crc32c(crc, std::span(bytes).subspan(begin, std::min<size_t>(7001, bytes.size() - begin)));
  EXPECT_EQ(crc, crc32c(0, bytes));
}

}  // namespace
}  // namespace nyala::crc32c_test
