#include <nyala/files/base/crc32c.h>

#include <nyala/files/base/crc_folding.h>

namespace nyala {

namespace {

constexpr Crc kCrc32c = crc_of(0x82f63b78);

}  // namespace

uint32_t crc32c(uint32_t crc, std::span<const std::byte> bytes) { return crc_of_bytes(kCrc32c, crc, bytes); }

}  // namespace nyala
