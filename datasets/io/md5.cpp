#include <nyala/datasets/io/md5.h>

#include <bit>
#include <cmath>
#include <utility>

namespace nyala::datasets {

namespace {

constexpr std::array<int, 16> kShifts = {7, 12, 17, 22, 5, 9, 14, 20, 4, 11, 16, 23, 6, 10, 15, 21};

/// floor(2^32 * |sin(i + 1)|), as the standard defines them.
const std::array<uint32_t, 64>& sines() {
  static const std::array<uint32_t, 64> table = [] {
    std::array<uint32_t, 64> out;
    for (size_t i = 0; i < 64; ++i)
      out[i] =
          static_cast<uint32_t>(std::floor(std::ldexp(std::fabs(std::sin(static_cast<double>(i + 1))), 32)));
    return out;
  }();
  return table;
}

uint32_t little_endian_word(const uint8_t* bytes) {
  return uint32_t{bytes[3]} << 24 | uint32_t{bytes[2]} << 16 | uint32_t{bytes[1]} << 8 | bytes[0];
}

/// The round's function of three words, and the word of the block that step i takes.
std::pair<uint32_t, size_t> mix(size_t i, uint32_t b, uint32_t c, uint32_t d) {
  switch (i / 16) {
    case 0:
      return {(b & c) | (~b & d), i};
    case 1:
      return {(d & b) | (~d & c), (5 * i + 1) % 16};
    case 2:
      return {b ^ c ^ d, (3 * i + 5) % 16};
    default:
      return {c ^ (b | ~d), 7 * i % 16};
  }
}

}  // namespace

void Md5::compress(const uint8_t* block) {
  const std::array<uint32_t, 64>& table = sines();
  auto [a, b, c, d] = state_;
  for (size_t i = 0; i < 64; ++i) {
    const auto [mixed, word] = mix(i, b, c, d);
    const uint32_t sum = a + mixed + table[i] + little_endian_word(block + 4 * word);
    a = d;
    d = c;
    c = b;
    b += std::rotl(sum, kShifts[i / 16 * 4 + i % 4]);
  }
  const std::array<uint32_t, 4> mixed = {a, b, c, d};
  for (size_t i = 0; i < 4; ++i) state_[i] += mixed[i];
}

std::string Md5::finish() {
  pad(std::endian::little);
  std::string out;
  for (const uint32_t word : state_)
    for (int byte = 0; byte < 4; ++byte)
      for (const int shift : {4, 0}) out += "0123456789abcdef"[word >> (8 * byte + shift) & 15u];
  return out;
}

}  // namespace nyala::datasets
