// The remainder of a polynomial can be folded: 128 bits times x^n mod P are added n bits further on, four
// registers side by side, until one is left (Gopal et al., "Fast CRC Computation for Generic Polynomials
// Using PCLMULQDQ", 2009). What is left there, and behind it, goes by tables.
#include <nyala/files/base/crc_folding.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace nyala {

namespace {

#if defined(__x86_64__)

constexpr size_t kLane = 16, kWideLane = 64;

/// The checksum of bytes behind those of which `left` is the remainder.
uint32_t behind_remainder(const CrcTables& tables, std::span<const std::byte> left,
                          std::span<const std::byte> bytes) {
  return crc_by_tables(tables, crc_by_tables(tables, ~uint32_t{0}, left), bytes);
}

[[gnu::target("pclmul,sse4.1")]] inline __m128i lane(const std::byte* at) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
}

[[gnu::target("pclmul,sse4.1")]] inline __m128i factors(const CrcShift& shift) {
  return _mm_set_epi64x(static_cast<int64_t>(shift.high), static_cast<int64_t>(shift.low));
}

[[gnu::target("pclmul,sse4.1")]] inline __m128i folded(__m128i x, __m128i shift, __m128i next) {
  const __m128i low = _mm_clmulepi64_si128(x, shift, 0x00), high = _mm_clmulepi64_si128(x, shift, 0x11);
  return _mm_xor_si128(_mm_xor_si128(low, high), next);
}

[[gnu::target("pclmul,sse4.1")]] uint32_t fold_128(const Crc& crc_of, uint32_t crc,
                                                   std::span<const std::byte> bytes) {
  const __m128i by_512 = factors(crc_of.by_512), by_128 = factors(crc_of.by_128);
  const std::byte *at = bytes.data(), *const end = at + bytes.size();
  __m128i a = _mm_xor_si128(lane(at), _mm_cvtsi32_si128(static_cast<int>(~crc)));
  __m128i b = lane(at + kLane), c = lane(at + 2 * kLane), d = lane(at + 3 * kLane);
  for (at += 4 * kLane; static_cast<size_t>(end - at) >= 4 * kLane; at += 4 * kLane) {
    a = folded(a, by_512, lane(at));
    b = folded(b, by_512, lane(at + kLane));
    c = folded(c, by_512, lane(at + 2 * kLane));
    d = folded(d, by_512, lane(at + 3 * kLane));
  }
  a = folded(folded(folded(a, by_128, b), by_128, c), by_128, d);
  for (; static_cast<size_t>(end - at) >= kLane; at += kLane) a = folded(a, by_128, lane(at));
  std::byte left[kLane];
  _mm_storeu_si128(reinterpret_cast<__m128i*>(left), a);
  return behind_remainder(crc_of.tables, left, {at, end});
}

[[gnu::target("avx512f,vpclmulqdq")]] inline __m512i wide_lane(const std::byte* at) {
  return _mm512_loadu_si512(at);
}

[[gnu::target("avx512f,vpclmulqdq")]] inline __m512i wide_factors(const CrcShift& shift) {
  const auto low = static_cast<int64_t>(shift.low), high = static_cast<int64_t>(shift.high);
  return _mm512_set4_epi64(high, low, high, low);
}

[[gnu::target("avx512f,vpclmulqdq")]] inline __m512i folded(__m512i x, __m512i shift, __m512i next) {
  constexpr int kXorOfThree = 0x96;
  return _mm512_ternarylogic_epi64(_mm512_clmulepi64_epi128(x, shift, 0x00),
                                   _mm512_clmulepi64_epi128(x, shift, 0x11), next, kXorOfThree);
}

[[gnu::target("avx512f,vpclmulqdq")]] uint32_t fold_512(const Crc& crc_of, uint32_t crc,
                                                        std::span<const std::byte> bytes) {
  const __m512i by_2048 = wide_factors(crc_of.by_2048), by_512 = wide_factors(crc_of.by_512);
  const std::byte *at = bytes.data(), *const end = at + bytes.size();
  __m512i a =
      _mm512_xor_si512(wide_lane(at), _mm512_set_epi64(0, 0, 0, 0, 0, 0, 0, static_cast<int64_t>(~crc)));
  __m512i b = wide_lane(at + kWideLane), c = wide_lane(at + 2 * kWideLane), d = wide_lane(at + 3 * kWideLane);
  for (at += 4 * kWideLane; static_cast<size_t>(end - at) >= 4 * kWideLane; at += 4 * kWideLane) {
    a = folded(a, by_2048, wide_lane(at));
    b = folded(b, by_2048, wide_lane(at + kWideLane));
    c = folded(c, by_2048, wide_lane(at + 2 * kWideLane));
    d = folded(d, by_2048, wide_lane(at + 3 * kWideLane));
  }
  a = folded(folded(folded(a, by_512, b), by_512, c), by_512, d);
  for (; static_cast<size_t>(end - at) >= kWideLane; at += kWideLane) a = folded(a, by_512, wide_lane(at));
  std::byte left[kWideLane];
  _mm512_storeu_si512(left, a);
  return behind_remainder(crc_of.tables, left, {at, end});
}

#endif

}  // namespace

#if defined(__x86_64__)

bool has_crc_way(CrcWay way) {
  static const bool has_512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("vpclmulqdq");
  static const bool has_128 = __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1");
  return way == CrcWay::tables || (way == CrcWay::folding_512_bits ? has_512 : has_128);
}

uint32_t crc_of_bytes(const Crc& crc_of, uint32_t crc, std::span<const std::byte> bytes, CrcWay way) {
  if (way == CrcWay::folding_512_bits && bytes.size() >= 4 * kWideLane) return fold_512(crc_of, crc, bytes);
  if (way == CrcWay::folding_128_bits && bytes.size() >= 4 * kLane) return fold_128(crc_of, crc, bytes);
  return crc_by_tables(crc_of.tables, crc, bytes);
}

#else

bool has_crc_way(CrcWay way) { return way == CrcWay::tables; }

uint32_t crc_of_bytes(const Crc& crc_of, uint32_t crc, std::span<const std::byte> bytes, CrcWay) {
  return crc_by_tables(crc_of.tables, crc, bytes);
}

#endif

uint32_t crc_of_bytes(const Crc& crc_of, uint32_t crc, std::span<const std::byte> bytes) {
  constexpr size_t kWorthwhile = 1024;  // for what 512 bits cost more at their end
  const bool is_long = bytes.size() >= kWorthwhile && has_crc_way(CrcWay::folding_512_bits);
  const CrcWay otherwise = has_crc_way(CrcWay::folding_128_bits) ? CrcWay::folding_128_bits : CrcWay::tables;
  return crc_of_bytes(crc_of, crc, bytes, is_long ? CrcWay::folding_512_bits : otherwise);
}

}  // namespace nyala
