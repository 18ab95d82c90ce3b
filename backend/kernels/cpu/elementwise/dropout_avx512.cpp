#include <immintrin.h>

#include <nyala/backend/kernels/cpu/elementwise/dropout_vector.h>

namespace nyala {

namespace {

struct Avx512 {
  using U = __m512i;
  static constexpr int64_t kCount = 16;

  static U all(uint32_t value) { return _mm512_set1_epi32(static_cast<int>(value)); }
  static U counting(uint32_t first) {
    return _mm512_add_epi32(all(first),
                            _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
  }
  static U exclusive_or(U a, U b) { return _mm512_xor_si512(a, b); }
  static void multiply(U a, U factor, U& high, U& low) {
    // The forms with a mask of all lanes: the plain ones of g++ 12 warn of uninitialised values.
    constexpr __mmask8 kAll = 0xFF;
    const U even = _mm512_maskz_mul_epu32(kAll, a, factor);
    const U odd = _mm512_maskz_mul_epu32(kAll, _mm512_maskz_srli_epi64(kAll, a, 32), factor);
    low = _mm512_mask_blend_epi32(0xAAAA, even, _mm512_maskz_slli_epi64(kAll, odd, 32));
    high = _mm512_mask_blend_epi32(0xAAAA, _mm512_maskz_srli_epi64(kAll, even, 32), odd);
  }
  static void keep(U words, uint32_t threshold, float scale, const float* x, float* y) {
    const __mmask16 kept = _mm512_cmpge_epu32_mask(words, all(threshold));
    _mm512_storeu_ps(y, _mm512_maskz_mul_ps(kept, _mm512_loadu_ps(x), _mm512_set1_ps(scale)));
  }
};

}  // namespace

void dropout_run_avx512(const DropoutRun& run) { vec::dropout_run<Avx512>(run); }

}  // namespace nyala
