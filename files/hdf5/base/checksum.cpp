#include <algorithm>
#include <bit>

#include <nyala/files/hdf5/base/checksum.h>

namespace nyala::hdf5 {
namespace {

struct State {
  uint32_t a, b, c;

  void mix() {
    a -= c;
    a ^= std::rotl(c, 4);
    c += b;
    b -= a;
    b ^= std::rotl(a, 6);
    a += c;
    c -= b;
    c ^= std::rotl(b, 8);
    b += a;
    a -= c;
    a ^= std::rotl(c, 16);
    c += b;
    b -= a;
    b ^= std::rotl(a, 19);
    a += c;
    c -= b;
    c ^= std::rotl(b, 4);
    b += a;
  }
  void finish() {
    c ^= b;
    c -= std::rotl(b, 14);
    a ^= c;
    a -= std::rotl(c, 11);
    b ^= a;
    b -= std::rotl(a, 25);
    c ^= b;
    c -= std::rotl(b, 16);
    a ^= c;
    a -= std::rotl(c, 4);
    b ^= a;
    b -= std::rotl(a, 14);
    c ^= b;
    c -= std::rotl(b, 24);
  }
};

/// Up to four bytes as a little-endian word; missing ones are zero.
uint32_t word(std::span<const std::byte> data, size_t at) {
  uint32_t value = 0;
  for (size_t i = 0; i < 4 && at + i < data.size(); ++i)
    value |= std::to_integer<uint32_t>(data[at + i]) << (8 * i);
  return value;
}

uint32_t fold(uint32_t sum) { return (sum & 0xffffu) + (sum >> 16); }

}  // namespace

uint32_t lookup3(std::span<const std::byte> data) {
  const uint32_t start = 0xdeadbeefu + static_cast<uint32_t>(data.size());
  State s{start, start, start};
  if (data.empty()) return s.c;
  while (true) {
    s.a += word(data, 0);
    s.b += word(data, 4);
    s.c += word(data, 8);
    if (data.size() <= 12) break;
    s.mix();
    data = data.subspan(12);
  }
  s.finish();
  return s.c;
}

uint32_t fletcher32(std::span<const std::byte> data) {
  // 360 additions of 16 bits are the most that cannot overflow the second sum.
  constexpr size_t kBlock = 720;
  uint32_t sum1 = 0, sum2 = 0;
  for (size_t i = 0; i < data.size();) {
    const size_t stop = std::min(data.size(), i + kBlock);
    for (; i < stop; i += 2) {
      const uint32_t low = i + 1 < data.size() ? std::to_integer<uint32_t>(data[i + 1]) : 0;
      sum1 += (std::to_integer<uint32_t>(data[i]) << 8) | low;
      sum2 += sum1;
    }
    sum1 = fold(sum1);
    sum2 = fold(sum2);
  }
  return (fold(sum2) << 16) | fold(sum1);
}

}  // namespace nyala::hdf5
