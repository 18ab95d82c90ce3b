#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <nyala/files/base/crc_tables.h>

namespace nyala {

/// x^(bits + 32) and x^(bits - 32) modulo the polynomial: what moves 128 bits on by `bits` when their halves
/// are multiplied with these two.
struct CrcShift {
  uint64_t low = 0, high = 0;
};

constexpr CrcShift crc_shift(uint32_t reflected_polynomial, int bits) {
  CrcShift shift;
  uint32_t power = 0x80000000u;  // x^0, reflected
  for (int i = 1; i <= bits + 32; ++i) {
    power = power >> 1 ^ (power & 1 ? reflected_polynomial : 0);
    if (i == bits - 32) shift.high = uint64_t{power} << 1;
  }
  shift.low = uint64_t{power} << 1;
  return shift;
}

/// What checksums of a polynomial are computed with.
struct Crc {
  CrcTables tables;
  CrcShift by_2048, by_512, by_128;
};

constexpr Crc crc_of(uint32_t reflected_polynomial) {
  return {crc_tables(reflected_polynomial), crc_shift(reflected_polynomial, 2048),
          crc_shift(reflected_polynomial, 512), crc_shift(reflected_polynomial, 128)};
}

/// The ways to compute one, the fastest first.
enum class CrcWay { folding_512_bits, folding_128_bits, tables };

/// Whether this processor can go that way: the folding ones multiply so many bits at once without carry.
bool has_crc_way(CrcWay way);

/// The checksum of what `crc` is that of and `bytes` behind it, by that way, which the processor must have.
uint32_t crc_of_bytes(const Crc& crc_of, uint32_t crc, std::span<const std::byte> bytes, CrcWay way);
/// By the fastest that it has for so many bytes.
uint32_t crc_of_bytes(const Crc& crc_of, uint32_t crc, std::span<const std::byte> bytes);

}  // namespace nyala
