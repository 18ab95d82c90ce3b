#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace nyala {

/// tables[k][b]: what byte b does to a 32-bit checksum when k bytes follow it ("slicing by 8": Kounavis and
/// Berry, 2005).
using CrcTables = std::array<std::array<uint32_t, 256>, 8>;

constexpr CrcTables crc_tables(uint32_t reflected_polynomial) {
  CrcTables tables{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? reflected_polynomial : 0);
    tables[0][byte] = crc;
  }
  for (size_t k = 1; k < tables.size(); ++k)
    for (size_t byte = 0; byte < 256; ++byte)
      tables[k][byte] = tables[k - 1][byte] >> 8 ^ tables[0][tables[k - 1][byte] & 0xff];
  return tables;
}

/// The checksum of what `crc` is that of, followed by `bytes`.
inline uint32_t crc_by_tables(const CrcTables& tables, uint32_t crc, std::span<const std::byte> bytes) {
  crc = ~crc;
  size_t at = 0;
  for (; at + 8 <= bytes.size(); at += 8) {
    uint32_t next = 0;
    for (size_t i = 0; i < 8; ++i) {
      const uint32_t mixed = std::to_integer<uint32_t>(bytes[at + i]) ^ (i < 4 ? crc >> (8 * i) & 0xff : 0);
      next ^= tables[7 - i][mixed];
    }
    crc = next;
  }
  for (; at < bytes.size(); ++at)
    crc = crc >> 8 ^ tables[0][(crc ^ std::to_integer<uint32_t>(bytes[at])) & 0xff];
  return ~crc;
}

}  // namespace nyala
