// The remainder of a polynomial can be folded: 128 bits times x^n mod P are added n bits further on, four
// lanes side by side, until one lane is left, which Barrett's reduction brings to 32 bits (Gopal et al. 2009,
// whose constants for the reflected polynomial these are). Without the instruction by eight tables at once.
#include <nyala/files/base/crc32.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <nyala/files/base/crc_tables.h>

namespace nyala {

namespace {

constexpr CrcTables kCrc32Tables = crc_tables(0xedb88320);

uint32_t crc32_by_tables(uint32_t crc, std::span<const std::byte> bytes) {
  return crc_by_tables(kCrc32Tables, crc, bytes);
}

#if defined(__x86_64__)

constexpr size_t kLane = 16, kBlock = 4 * kLane;

[[gnu::target("pclmul,sse4.1")]] inline __m128i load(const std::byte* at) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
}

/// `x` moved on by as many bits as `constants` stand for, with `next` added.
[[gnu::target("pclmul,sse4.1")]] inline __m128i fold(__m128i x, __m128i constants, __m128i next) {
  const __m128i low = _mm_clmulepi64_si128(x, constants, 0x00),
                high = _mm_clmulepi64_si128(x, constants, 0x11);
  return _mm_xor_si128(_mm_xor_si128(low, high), next);
}

/// 128 bits to the 32 of the remainder: twice by folding, then by Barrett's reduction.
[[gnu::target("pclmul,sse4.1")]] inline uint32_t reduce(__m128i x, __m128i by_lane) {
  const __m128i every_other = _mm_setr_epi32(-1, 0, -1, 0);
  const __m128i by_half = _mm_set_epi64x(0, 0x163cd6124),
                polynomial = _mm_set_epi64x(0x1f7011641, 0x1db710641);
  x = _mm_xor_si128(_mm_srli_si128(x, 8), _mm_clmulepi64_si128(x, by_lane, 0x10));
  const __m128i folded = _mm_clmulepi64_si128(_mm_and_si128(x, every_other), by_half, 0x00);
  x = _mm_xor_si128(_mm_srli_si128(x, 4), folded);
  __m128i quotient = _mm_clmulepi64_si128(_mm_and_si128(x, every_other), polynomial, 0x10);
  quotient = _mm_clmulepi64_si128(_mm_and_si128(quotient, every_other), polynomial, 0x00);
  return static_cast<uint32_t>(_mm_extract_epi32(_mm_xor_si128(x, quotient), 1));
}

/// Takes whole lanes, at least one block of them.
[[gnu::target("pclmul,sse4.1")]] uint32_t crc32_folding(uint32_t crc, std::span<const std::byte> bytes) {
  const __m128i by_block = _mm_set_epi64x(0x1c6e41596, 0x154442bd4);
  const __m128i by_lane = _mm_set_epi64x(0x0ccaa009e, 0x1751997d0);
  const std::byte *at = bytes.data(), *end = at + bytes.size();
  __m128i a = _mm_xor_si128(load(at), _mm_cvtsi32_si128(static_cast<int>(~crc)));
  __m128i b = load(at + kLane), c = load(at + 2 * kLane), d = load(at + 3 * kLane);
  for (at += kBlock; static_cast<size_t>(end - at) >= kBlock; at += kBlock) {
    a = fold(a, by_block, load(at));
    b = fold(b, by_block, load(at + kLane));
    c = fold(c, by_block, load(at + 2 * kLane));
    d = fold(d, by_block, load(at + 3 * kLane));
  }
  a = fold(fold(fold(a, by_lane, b), by_lane, c), by_lane, d);
  for (; at < end; at += kLane) a = fold(a, by_lane, load(at));
  return ~reduce(a, by_lane);
}

#endif

}  // namespace

uint32_t crc32(uint32_t crc, std::span<const std::byte> bytes) {
#if defined(__x86_64__)
  static const bool folds = __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1");
  if (folds && bytes.size() >= kBlock) {
    const size_t whole = bytes.size() / kLane * kLane;
    crc = crc32_folding(crc, bytes.first(whole));
    bytes = bytes.subspan(whole);
  }
#endif
  return crc32_by_tables(crc, bytes);
}

}  // namespace nyala
