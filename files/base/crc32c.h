#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace nyala {

/// The CRC-32C (Castagnoli's polynomial 0x1edc6f41, as in iSCSI, RFC 3720) of what `crc` is that of and
/// `bytes` behind it; begin with 0.
uint32_t crc32c(uint32_t crc, std::span<const std::byte> bytes);

}  // namespace nyala
