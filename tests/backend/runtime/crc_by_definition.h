#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace nyala {

/// A checksum bit by bit, as the polynomial (its bits reversed) is divided by hand.
inline uint32_t crc_by_definition(uint32_t polynomial, uint32_t crc, std::span<const std::byte> bytes) {
  crc = ~crc;
  for (const std::byte byte : bytes) {
    crc ^= std::to_integer<uint32_t>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? polynomial : 0);
  }
  return ~crc;
}

}  // namespace nyala
