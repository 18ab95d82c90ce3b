// The ends of runs are masked. Where a mask says all, it is there because of GCC 12, which takes what the
// plain intrinsics leave undefined for a mistake of the caller.
#include <immintrin.h>

#include <nyala/backend/kernels/cpu/base/half_loops.h>

namespace nyala {

namespace {

constexpr int64_t kLanes = 16;
constexpr __mmask16 kAll = 0xffff;

__mmask16 first_lanes(int64_t count) {
  return static_cast<__mmask16>(count >= kLanes ? 0xffff : (1 << count) - 1);
}

__m512 widen_bfloat16(__m256i bits) {
  return _mm512_castsi512_ps(_mm512_maskz_slli_epi32(kAll, _mm512_maskz_cvtepu16_epi32(kAll, bits), 16));
}

__m512 widen_float16(__m256i bits) { return _mm512_maskz_cvtph_ps(kAll, bits); }

__m256i narrow_bfloat16(__m512 x) {
  const __m512i word = _mm512_castps_si512(x), upper = _mm512_maskz_srli_epi32(kAll, word, 16);
  const __m512i odd = _mm512_and_si512(upper, _mm512_set1_epi32(1));
  const __m512i up = _mm512_add_epi32(_mm512_add_epi32(word, _mm512_set1_epi32(0x7fff)), odd);
  const __m512i quiet = _mm512_or_si512(upper, _mm512_set1_epi32(0x40));
  const __mmask16 is_nan = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
  const __m512i rounded = _mm512_mask_blend_epi32(is_nan, _mm512_maskz_srli_epi32(kAll, up, 16), quiet);
  return _mm512_maskz_cvtepi32_epi16(kAll, rounded);
}

__m256i narrow_float16(__m512 x) {
  return _mm512_maskz_cvtps_ph(kAll, x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

template <__m512 (*kWiden)(__m256i)>
void widen(const uint16_t* x, float* y, int64_t count) {
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    _mm512_storeu_ps(y + i, kWiden(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(x + i))));
  if (i == count) return;
  const __mmask16 mask = first_lanes(count - i);
  _mm512_mask_storeu_ps(y + i, mask, kWiden(_mm256_maskz_loadu_epi16(mask, x + i)));
}

template <__m256i (*kNarrow)(__m512)>
void narrow(const float* x, uint16_t* y, int64_t count) {
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(y + i), kNarrow(_mm512_loadu_ps(x + i)));
  if (i == count) return;
  const __mmask16 mask = first_lanes(count - i);
  _mm256_mask_storeu_epi16(y + i, mask, kNarrow(_mm512_maskz_loadu_ps(mask, x + i)));
}

}  // namespace

const HalfLoopsOfBoth& half_loops_avx512() {
  static constexpr HalfLoopsOfBoth loops{{widen<widen_bfloat16>, narrow<narrow_bfloat16>},
                                         {widen<widen_float16>, narrow<narrow_float16>}};
  return loops;
}

}  // namespace nyala
