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

  explicit Masked(int64_t count)
      : mask(_mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count)),
                                _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7))) {}
  static F all(float value) { return (F)_mm256_set1_ps(value); }
  F load(const float* p) const { return (F)_mm256_maskload_ps(p, mask); }
  void store(float* p, F v) const { _mm256_maskstore_ps(p, mask, (__m256)v); }
  /// The other lanes from `rest`.
  F load(const float* p, F rest) const {
    return (F)_mm256_blendv_ps((__m256)rest, _mm256_maskload_ps(p, mask), _mm256_castsi256_ps(mask));
  }
  /// v with the other lanes 0.
  F keep(F v) const { return (F)_mm256_and_ps((__m256)v, _mm256_castsi256_ps(mask)); }
};

}  // namespace nyala::vec
