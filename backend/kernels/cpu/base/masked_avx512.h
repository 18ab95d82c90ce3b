#pragma once

#include <immintrin.h>

#include <nyala/backend/kernels/cpu/base/vector_lanes.h>

namespace nyala::vec {

template <int kBytes>
struct Masked;

/// The first lanes of a vector of 16, for the ends of runs. Only for files compiled for AVX-512.
template <>
struct Masked<64> {
  using F = Lanes<64>::F;
  __mmask16 mask;

  explicit Masked(int64_t count) : mask(static_cast<__mmask16>((1u << count) - 1u)) {}
  static F all(float value) { return (F)_mm512_set1_ps(value); }
  F load(const float* p) const { return (F)_mm512_maskz_loadu_ps(mask, p); }
  F load_parts(const float* p) const { return load(p); }
  void store(float* p, F v) const { _mm512_mask_storeu_ps(p, mask, (__m512)v); }
  /// The other lanes from `rest`.
  F load(const float* p, F rest) const { return (F)_mm512_mask_loadu_ps((__m512)rest, mask, p); }
  /// v with the other lanes 0.
  F keep(F v) const { return (F)_mm512_maskz_mov_ps(mask, (__m512)v); }
};

template <int kBytes>
struct Permutation;

/// Lane i of the result is lane of[i] of the argument.
template <>
struct Permutation<64> {
  using F = Lanes<64>::F;
  __m512i of;
  F operator()(F v) const { return (F)_mm512_maskz_permutexvar_ps(0xffff, of, (__m512)v); }
};

}  // namespace nyala::vec
