// The CRC instruction takes eight bytes and three cycles, but one can begin in each cycle: three parts of 1
// KiB are summed at the same time and joined by tables of what 1 KiB of zeros behind it does to a checksum,
// which is linear (Gopal et al., Fast CRC Computation for iSCSI Polynomial Using CRC32 Instruction, 2011).
#include <nyala/files/base/crc32c.h>

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <nyala/files/base/crc_tables.h>

namespace nyala {

namespace {

constexpr CrcTables kCrc32cTables = crc_tables(0x82f63b78);

#if defined(__x86_64__)

/// Bytes of each of the three parts.
constexpr size_t kPart = 1024;

/// What kPart bytes of zeros behind it make of a checksum, by each of its bytes.
constexpr auto kBehindPart = [] {
  std::array<uint32_t, 32> bits{};
  for (size_t bit = 0; bit < 32; ++bit) {
    uint32_t crc = uint32_t{1} << bit;
    for (size_t i = 0; i < kPart; ++i) crc = crc >> 8 ^ kCrc32cTables[0][crc & 0xff];
    bits[bit] = crc;
  }
  std::array<std::array<uint32_t, 256>, 4> tables{};
  for (size_t place = 0; place < 4; ++place)
    for (size_t byte = 0; byte < 256; ++byte)
      for (size_t bit = 0; bit < 8; ++bit)
        if (byte >> bit & 1) tables[place][byte] ^= bits[8 * place + bit];
  return tables;
}();

uint64_t behind_part(uint64_t crc) {
  return kBehindPart[0][crc & 0xff] ^ kBehindPart[1][crc >> 8 & 0xff] ^ kBehindPart[2][crc >> 16 & 0xff] ^
         kBehindPart[3][crc >> 24];
}

inline uint64_t word(const std::byte* at) {
  uint64_t value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

/// An instruction takes three cycles, but one begins with each: three parts are summed up side by side.
[[gnu::target("sse4.2")]] uint32_t crc32c_by_instruction(uint32_t begin, std::span<const std::byte> bytes) {
  uint64_t crc = ~begin;
  const std::byte *at = bytes.data(), *const end = at + bytes.size();
  for (; static_cast<size_t>(end - at) >= 3 * kPart; at += 3 * kPart) {
    uint64_t second = 0, third = 0;
    crc &= 0xffffffff;
    for (size_t i = 0; i < kPart; i += 8) {
      crc = _mm_crc32_u64(crc, word(at + i));
      second = _mm_crc32_u64(second, word(at + kPart + i));
      third = _mm_crc32_u64(third, word(at + 2 * kPart + i));
    }
    crc = behind_part(behind_part(crc) ^ second) ^ third;
  }
  for (; end - at >= 8; at += 8) crc = _mm_crc32_u64(crc, word(at));
  auto rest = static_cast<uint32_t>(crc);
  for (; at < end; ++at) rest = _mm_crc32_u8(rest, std::to_integer<uint8_t>(*at));
  return ~rest;
}

#endif

}  // namespace

uint32_t crc32c_by_tables(uint32_t crc, std::span<const std::byte> bytes) {
  return crc_by_tables(kCrc32cTables, crc, bytes);
}

uint32_t crc32c(uint32_t crc, std::span<const std::byte> bytes) {
#if defined(__x86_64__)
  static const bool has_instruction = __builtin_cpu_supports("sse4.2");
  if (has_instruction) return crc32c_by_instruction(crc, bytes);
#endif
  return crc32c_by_tables(crc, bytes);
}

}  // namespace nyala
