#include <nyala/files/base/crc32.h>

#include <nyala/files/base/crc_folding.h>

namespace nyala {

namespace {

constexpr Crc kCrc32 = crc_of(0xedb88320);

}  // namespace

uint32_t crc32(uint32_t crc, std::span<const std::byte> bytes) { return crc_of_bytes(kCrc32, crc, bytes); }

}  // namespace nyala
