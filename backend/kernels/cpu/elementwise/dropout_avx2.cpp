#include <immintrin.h>

#include <nyala/backend/kernels/cpu/elementwise/dropout_vector.h>

namespace nyala {

namespace {

struct Avx2 {
  using U = __m256i;
  static constexpr int64_t kCount = 8;

  static U all(uint32_t value) { return _mm256_set1_epi32(static_cast<int>(value)); }
  static U counting(uint32_t first) {
    return _mm256_add_epi32(all(first), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  }
  static U exclusive_or(U a, U b) { return _mm256_xor_si256(a, b); }
  static void multiply(U a, U factor, U& high, U& low) {
    const U even = _mm256_mul_epu32(a, factor), odd = _mm256_mul_epu32(_mm256_srli_epi64(a, 32), factor);
    low = _mm256_blend_epi32(even, _mm256_slli_epi64(odd, 32), 0xAA);
    high = _mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xAA);
  }
  static void keep(U words, uint32_t threshold, float scale, const float* x, float* y) {
    const U limit = all(threshold);
    const U kept = _mm256_cmpeq_epi32(_mm256_max_epu32(words, limit), words);
    const __m256 scaled = _mm256_mul_ps(_mm256_loadu_ps(x), _mm256_set1_ps(scale));
    _mm256_storeu_ps(y, _mm256_and_ps(_mm256_castsi256_ps(kept), scaled));
  }
};

}  // namespace

void dropout_run_avx2(const DropoutRun& run) { vec::dropout_run<Avx2>(run); }

}  // namespace nyala
