#pragma once

#include <cstdint>

/// Vectors of 8 or 16 floats by the compiler's vector types, for files that are compiled for one kind of CPU.
/// Everything here is a template of the vector's bytes, and nothing else may be included in such a file: an
/// inline function shared with other files could be linked from the one that an older CPU cannot run.
namespace nyala::vec {

/// Calls f.template operator()<n>() for n = 1 ... kLargest. Inlined everywhere, so that no file's is linked.
template <int kLargest, class Body>
[[gnu::always_inline]] inline void with_number(int64_t n, Body&& f) {
  if constexpr (kLargest > 1) {
    if (n < kLargest) return with_number<kLargest - 1>(n, f);
  }
  f.template operator()<kLargest>();
}

template <int kBytes>
struct VectorTypes;
template <>
struct VectorTypes<32> {
  using F = float __attribute__((vector_size(32)));
  using I = int32_t __attribute__((vector_size(32)));
  using Unaligned = float __attribute__((vector_size(32), aligned(4), may_alias));
};
template <>
struct VectorTypes<64> {
  using F = float __attribute__((vector_size(64)));
  using I = int32_t __attribute__((vector_size(64)));
  using Unaligned = float __attribute__((vector_size(64), aligned(4), may_alias));
};

template <int kBytes>
struct Lanes {
  using F = typename VectorTypes<kBytes>::F;
  using I = typename VectorTypes<kBytes>::I;
  using Unaligned = typename VectorTypes<kBytes>::Unaligned;
  static constexpr int64_t kCount = kBytes / 4;

  static F load(const float* p) { return *reinterpret_cast<const Unaligned*>(p); }
  static void store(float* p, F v) { *reinterpret_cast<Unaligned*>(p) = v; }
  static F load_part(const float* p, int64_t count) {
    F v = {};
    for (int64_t i = 0; i < count; ++i) v[i] = p[i];
    return v;
  }
  static void store_part(float* p, F v, int64_t count) {
    for (int64_t i = 0; i < count; ++i) p[i] = v[i];
  }
  static F all(float value) { return F{} + value; }
  static F choose(I mask, F yes, F no) { return mask ? yes : no; }
  static F absolute(F x) { return reinterpret_cast<F>(reinterpret_cast<I>(x) & 0x7fffffff); }
  static F with_sign_of(F magnitude, F sign) {
    return reinterpret_cast<F>((reinterpret_cast<I>(magnitude) & 0x7fffffff) |
                               (reinterpret_cast<I>(sign) & int32_t(0x80000000)));
  }

  /// exp within 2 ulp: x = n log 2 + r, a polynomial of r (Cephes, Moshier) and 2^n in two factors, so that
  /// neither overflows before the result does.
  static F exp(F x) {
    x = choose(x < -104.0f, all(-104.0f), x);
    x = choose(x > 89.0f, all(89.0f), x);
    constexpr float kMagic = 12582912.0f;  // 1.5 * 2^23: adding it rounds to a whole number
    const F shifted = x * 1.44269504088896341f + kMagic;
    const I n = reinterpret_cast<I>(shifted) - 0x4b400000;
    const F whole = shifted - kMagic;
    const F r = (x - whole * 0.693359375f) - whole * -2.12194440e-4f;
    F p = r * 1.9875691500e-4f + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * (r * r) + r + 1.0f;
    const I half = n >> 1;
    return p * power_of_two(half) * power_of_two(n - half);
  }
  /// exp(x) - 1 for x <= 0 (above it counts as 0), without cancellation: the polynomial of exp() times 2^n,
  /// and 2^n - 1.
  static F expm1_below_0(F x) {
    x = choose(x < -87.0f, all(-87.0f), x);
    x = choose(x > 0.0f, all(0.0f), x);
    constexpr float kMagic = 12582912.0f;
    const F shifted = x * 1.44269504088896341f + kMagic, whole = shifted - kMagic;
    const F r = (x - whole * 0.693359375f) - whole * -2.12194440e-4f;
    F p = r * 1.9875691500e-4f + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    const F scale = power_of_two(reinterpret_cast<I>(shifted) - 0x4b400000);
    return (p * (r * r) + r) * scale + (scale - 1.0f);
  }
  static F power_of_two(I n) { return reinterpret_cast<F>((n + 127) << 23); }

  static F sigmoid(F x) {
    const F e = exp(-absolute(x));
    const F inverse = 1.0f / (1.0f + e);
    return choose(x < 0.0f, e * inverse, inverse);
  }

  /// A polynomial below 0.625 (Cephes), 1 - 2 / (exp(2x) + 1) above.
  static F tanh(F x) {
    const F size = absolute(x), square = x * x;
    F p = square * -5.70498872745e-3f + 2.06390887954e-2f;
    p = p * square + -5.37397155531e-2f;
    p = p * square + 1.33314422036e-1f;
    p = p * square + -3.33332819422e-1f;
    const F small = with_sign_of(p * square * x + x, x);  // -0 stays -0
    const F large = with_sign_of(1.0f - 2.0f / (exp(size + size) + 1.0f), x);
    return choose(size < 0.625f, small, choose(x == x, large, x));
  }

  /// f(z), for an enum with linear, relu, sigmoid and tanh.
  template <class Activation>
  static F activated(F z, Activation f) {
    switch (f) {
      case Activation::relu:
        return choose(z <= 0.0f, F{}, z);
      case Activation::sigmoid:
        return sigmoid(z);
      case Activation::tanh:
        return tanh(z);
      case Activation::linear:
        break;
    }
    return z;
  }
};

}  // namespace nyala::vec
