// The ends of runs go through a whole vector of their own.
#include <immintrin.h>

#include <nyala/backend/kernels/cpu/base/half_loops.h>

namespace nyala {

namespace {

constexpr int64_t kLanes = 16;

__m256 widen_bfloat16(const uint16_t* x) {
  const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(x));
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16));
}

__m256 widen_float16(const uint16_t* x) {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x)));
}

/// bfloat16 in the lower halves of the lanes.
__m256i rounded(__m256 x) {
  const __m256i word = _mm256_castps_si256(x), upper = _mm256_srli_epi32(word, 16);
  const __m256i odd = _mm256_and_si256(upper, _mm256_set1_epi32(1));
  const __m256i up = _mm256_add_epi32(_mm256_add_epi32(word, _mm256_set1_epi32(0x7fff)), odd);
  const __m256i quiet = _mm256_or_si256(upper, _mm256_set1_epi32(0x40));
  const __m256i is_nan = _mm256_castps_si256(_mm256_cmp_ps(x, x, _CMP_UNORD_Q));
  return _mm256_blendv_epi8(_mm256_srli_epi32(up, 16), quiet, is_nan);
}

__m256i narrow_bfloat16(__m256 low, __m256 high) {
  return _mm256_permute4x64_epi64(_mm256_packus_epi32(rounded(low), rounded(high)), 0xd8);
}

__m256i narrow_float16(__m256 low, __m256 high) {
  constexpr int kNearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
  return _mm256_set_m128i(_mm256_cvtps_ph(high, kNearest), _mm256_cvtps_ph(low, kNearest));
}

template <__m256 (*kWiden)(const uint16_t*)>
void widen(const uint16_t* x, float* y, int64_t count) {
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    _mm256_storeu_ps(y + i, kWiden(x + i));
    _mm256_storeu_ps(y + i + 8, kWiden(x + i + 8));
  }
  if (i == count) return;
  uint16_t last[kLanes] = {};
  float wide[kLanes];
  for (int64_t k = i; k < count; ++k) last[k - i] = x[k];
  _mm256_storeu_ps(wide, kWiden(last));
  _mm256_storeu_ps(wide + 8, kWiden(last + 8));
  for (int64_t k = i; k < count; ++k) y[k] = wide[k - i];
}

template <__m256i (*kNarrow)(__m256, __m256)>
void narrow(const float* x, uint16_t* y, int64_t count) {
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(y + i),
                        kNarrow(_mm256_loadu_ps(x + i), _mm256_loadu_ps(x + i + 8)));
  if (i == count) return;
  float last[kLanes] = {};
  uint16_t bits[kLanes];
  for (int64_t k = i; k < count; ++k) last[k - i] = x[k];
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(bits),
                      kNarrow(_mm256_loadu_ps(last), _mm256_loadu_ps(last + 8)));
  for (int64_t k = i; k < count; ++k) y[k] = bits[k - i];
}

}  // namespace

const HalfLoopsOfBoth& half_loops_avx2() {
  static constexpr HalfLoopsOfBoth loops{{widen<widen_bfloat16>, narrow<narrow_bfloat16>},
                                         {widen<widen_float16>, narrow<narrow_float16>}};
  return loops;
}

}  // namespace nyala
