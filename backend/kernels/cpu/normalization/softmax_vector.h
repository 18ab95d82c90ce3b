#pragma once

#include <nyala/backend/kernels/cpu/base/vector_lanes.h>
#include <nyala/backend/kernels/cpu/normalization/softmax_loops.h>

/// The loops of SoftmaxLoops as templates of the vector's bytes. See vector_lanes.h for what may be used
/// here. Masked<kBytes> comes from the including file.
namespace nyala::vec {

template <int kBytes>
struct Masked;

template <int kBytes>
struct Softmax {
  using L = Lanes<kBytes>;
  using F = typename L::F;

  struct Full {
    static F load(const float* p) { return L::load(p); }
    static F load(const float* p, F) { return L::load(p); }
    static void store(float* p, F v) { L::store(p, v); }
    static F keep(F v) { return v; }
  };

  template <class Body>
  [[gnu::always_inline]] static void for_each_vector(int64_t n, Body&& body) {
    int64_t i = 0;
    for (; i + L::kCount <= n; i += L::kCount) body(Full{}, i);
    if (i < n) body(Masked<kBytes>(n - i), i);
  }

  static float sum(F v) {
    float total = 0.0f;
    for (int64_t lane = 0; lane < L::kCount; ++lane) total += v[lane];
    return total;
  }

  static SoftmaxLoops::Total total(const float* x, int64_t n) {
    F best = Masked<kBytes>::all(x[0]);
    for_each_vector(n, [&](auto part, int64_t i) {
      const F v = part.load(x + i, best);
      best = v > best ? v : best;
    });
    float largest = best[0];
    for (int64_t lane = 1; lane < L::kCount; ++lane) largest = best[lane] > largest ? best[lane] : largest;
    F sums = {};
    for_each_vector(n, [&](auto part, int64_t i) { sums += part.keep(L::exp(part.load(x + i) - largest)); });
    return {largest, sum(sums)};
  }

  static void scaled_exp(const float* x, int64_t n, float offset, float scale, float* y) {
    for_each_vector(
        n, [&](auto part, int64_t i) { part.store(y + i, L::exp(part.load(x + i) - offset) * scale); });
  }

  static void shift(const float* x, int64_t n, float offset, float* y) {
    for_each_vector(n, [&](auto part, int64_t i) { part.store(y + i, part.load(x + i) - offset); });
  }

  static void softmax_backward(const float* g, const float* y, int64_t n, float* dx) {
    F products = {};
    for_each_vector(n, [&](auto part, int64_t i) { products += part.load(g + i) * part.load(y + i); });
    const float product = sum(products);
    for_each_vector(n, [&](auto part, int64_t i) {
      part.store(dx + i, part.load(y + i) * (part.load(g + i) - product));
    });
  }

  static void log_softmax_backward(const float* g, const float* y, int64_t n, float* dx) {
    F sums = {};
    for_each_vector(n, [&](auto part, int64_t i) { sums += part.load(g + i); });
    const float all = sum(sums);
    for_each_vector(n, [&](auto part, int64_t i) {
      part.store(dx + i, part.load(g + i) - L::exp(part.load(y + i)) * all);
    });
  }
};

template <int kBytes>
constexpr SoftmaxLoops make_softmax_loops() {
  using S = Softmax<kBytes>;
  return {S::total, S::scaled_exp, S::shift, S::softmax_backward, S::log_softmax_backward};
}

}  // namespace nyala::vec
