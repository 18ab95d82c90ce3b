#pragma once

#include <bit>
#include <cstdint>

namespace nyala {

/// The upper half of a float: 8 exponent and 7 fraction bits. Conversion rounds to nearest even.
struct bfloat16 {
  uint16_t bits = 0;

  bfloat16() = default;
  explicit bfloat16(float value) {
    const uint32_t word = std::bit_cast<uint32_t>(value);
    const bool is_nan = (word & 0x7fffffffu) > 0x7f800000u;
    bits = is_nan ? static_cast<uint16_t>((word >> 16) | 0x40u)
                  : static_cast<uint16_t>((word + 0x7fffu + ((word >> 16) & 1u)) >> 16);
  }
  explicit operator float() const { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }
};

/// IEEE 754 binary16. Conversion rounds to nearest even.
struct float16 {
  uint16_t bits = 0;

  float16() = default;
  explicit float16(float value);
  explicit operator float() const;
};

}  // namespace nyala
