#pragma once

#include <immintrin.h>

#include <nyala/backend/kernels/cpu/base/vector_lanes.h>

namespace nyala::vec {

template <int kBytes>
struct Masked;

/// The first lanes of a vector of 8, for the ends of runs. Only for files compiled for AVX2.
template <>
struct Masked<32> {
  using F = Lanes<32>::F;
  __m256i mask;
  int64_t count;

  explicit Masked(int64_t lanes)
      : mask(_mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(lanes)),
                                _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7))),
        count(lanes) {}
  static F all(float value) { return (F)_mm256_set1_ps(value); }
  F load(const float* p) const { return (F)_mm256_maskload_ps(p, mask); }
  /// The same by ordinary loads, for loops that store in between: AMD's masked loads wait for stores before.
  F load_parts(const float* p) const {
    if (count >= 8) return (F)_mm256_loadu_ps(p);
    if (count < 4) return (F)_mm256_zextps128_ps256(up_to_3(p, count));
    return (F)_mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(p)), up_to_3(p + 4, count - 4), 1);
  }
  /// By stores of 4, 2 and 1 lanes: AMD's masked ones take several times as long as these together.
  void store(float* p, F v) const {
    if (count >= 8) return _mm256_storeu_ps(p, (__m256)v);
    __m128 rest = _mm256_castps256_ps128((__m256)v);
    if (count & 4) {
      _mm_storeu_ps(p, rest);
      rest = _mm256_extractf128_ps((__m256)v, 1);
      p += 4;
    }
    if (count & 2) {
      _mm_storel_pi(reinterpret_cast<__m64*>(p), rest);
      rest = _mm_movehl_ps(rest, rest);
      p += 2;
    }
    if (count & 1) _mm_store_ss(p, rest);
  }
  /// The other lanes from `rest`.
  F load(const float* p, F rest) const {
    return (F)_mm256_blendv_ps((__m256)rest, _mm256_maskload_ps(p, mask), _mm256_castsi256_ps(mask));
  }
  /// v with the other lanes 0.
  F keep(F v) const { return (F)_mm256_and_ps((__m256)v, _mm256_castsi256_ps(mask)); }

 private:
  static __m128 up_to_3(const float* p, int64_t lanes) {
    if (lanes <= 0) return _mm_setzero_ps();
    if (lanes == 1) return _mm_load_ss(p);
    const __m128 two = _mm_loadl_pi(_mm_setzero_ps(), reinterpret_cast<const __m64*>(p));
    return lanes == 2 ? two : _mm_movelh_ps(two, _mm_load_ss(p + 2));
  }
};

template <int kBytes>
struct Permutation;

/// Lane i of the result is lane of[i] of the argument.
template <>
struct Permutation<32> {
  using F = Lanes<32>::F;
  __m256i of;
  F operator()(F v) const { return (F)_mm256_permutevar8x32_ps((__m256)v, of); }
};

}  // namespace nyala::vec
