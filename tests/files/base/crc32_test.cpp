#include <algorithm>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include <nyala/backend/runtime/random.h>
#include <nyala/files/base/crc32.h>
#include <nyala/tests/backend/runtime/crc_by_definition.h>

namespace nyala {
namespace {

constexpr uint32_t kPolynomial = 0xedb88320;

TEST(Crc32, IsThatOfTheDefinition) {
  DrawStream random(11);
  for (size_t size = 0; size < 700; ++size) {
    std::vector<std::byte> bytes(size + 3);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.below(256));
    const auto part = std::span(bytes).subspan(size % 3, size);  // not aligned
    const auto before = static_cast<uint32_t>(random.below(UINT32_MAX));
    ASSERT_EQ(crc32(before, part), crc_by_definition(kPolynomial, before, part)) << size;
  }
}

TEST(Crc32, OfPiecesIsThatOfTheWhole) {
  std::vector<std::byte> bytes(100000);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * i % 251);
  const uint32_t whole = crc32(0, bytes);
  uint32_t crc = 0;
  for (size_t begin = 0, size = 1; begin < bytes.size(); begin += size, size = size * 3 % 1009 + 1)
    crc = crc32(crc, std::span(bytes).subspan(begin, std::min(size, bytes.size() - begin)));
  EXPECT_EQ(crc, whole);
  const char text[] = "123456789";
  EXPECT_EQ(crc32(0, std::as_bytes(std::span(text, 9))), 0xcbf43926u);
}

}  // namespace
}  // namespace nyala
