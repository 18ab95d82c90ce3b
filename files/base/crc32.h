#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace nyala {

/// The checksum of ZIP (CRC-32, polynomial 0x04c11db7) of what `crc` is that of and `bytes` behind it; begin
/// with 0.
uint32_t crc32(uint32_t crc, std::span<const std::byte> bytes);

}  // namespace nyala
