#pragma once

#include <nyala/backend/kernels/cpu/base/vector_lanes.h>
#include <nyala/backend/kernels/cpu/normalization/layer_normalization_loops.h>

/// The loops of LayerNormalizationLoops as templates of the vector's bytes. See vector_lanes.h for what may
/// be used here. Masked<kBytes> comes from the including file.
namespace nyala::vec {

template <int kBytes>
struct Masked;

template <int kBytes>
struct LayerNormalization {
  using L = Lanes<kBytes>;
  using F = typename L::F;

  struct Full {
    static F load(const float* p) { return L::load(p); }
    static void store(float* p, F v) { L::store(p, v); }
    static F keep(F v) { return v; }
  };

  template <class Body>
  [[gnu::always_inline]] static void for_each_vector(int64_t n, Body&& body) {
    int64_t i = 0;
    for (; i + L::kCount <= n; i += L::kCount) body(Full{}, i);
    if (i < n) body(Masked<kBytes>(n - i), i);
  }

  /// The sum of all lanes, by halves.
  static float sum(F v) {
    if constexpr (kBytes == 64)
      v += __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7);
    if constexpr (kBytes == 64) {
      v += __builtin_shufflevector(v, v, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11);
      v += __builtin_shufflevector(v, v, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13);
    } else {
      v += __builtin_shufflevector(v, v, 4, 5, 6, 7, 0, 1, 2, 3);
      v += __builtin_shufflevector(v, v, 2, 3, 0, 1, 6, 7, 4, 5);
    }
    return v[0] + v[1];
  }

  /// The sum of term(part, i) over a row: four vectors side by side, chunks of fixed size in double.
  template <class Term>
  [[gnu::always_inline]] static double total(int64_t n, Term&& term) {
    constexpr int64_t kChunk = 4096, kWide = 4 * L::kCount;
    double all = 0.0;
    for (int64_t first = 0; first < n; first += kChunk) {
      const int64_t last = first + kChunk < n ? first + kChunk : n;
      F sums[4] = {};
      int64_t i = first;
      for (; i + kWide <= last; i += kWide)
        for (int64_t k = 0; k < 4; ++k) sums[k] += term(Full{}, i + k * L::kCount);
      for (; i + L::kCount <= last; i += L::kCount) sums[0] += term(Full{}, i);
      if (i < last) {
        const Masked<kBytes> part(last - i);
        sums[1] += part.keep(term(part, i));
      }
      all += static_cast<double>(sum((sums[0] + sums[1]) + (sums[2] + sums[3])));
    }
    return all;
  }

  template <bool kGamma, bool kBeta>
  static void forward_rows(const LayerNormalizationLoops::Forward& run) {
    const int64_t n = run.n;
    const double count = static_cast<double>(n);
    for (int64_t row = 0; row < run.rows; ++row) {
      const float* x = run.x + row * n;
      float* y = run.y + row * n;
      float mean = 0.0f;
      if (run.centered)
        mean = static_cast<float>(total(n, [&](auto part, int64_t i) { return part.load(x + i); }) / count);
      const double squares = total(n, [&](auto part, int64_t i) {
        const F distance = part.load(x + i) - mean;
        return distance * distance;
      });
      const float inverse = static_cast<float>(1.0 / __builtin_sqrt(squares / count + run.epsilon));
      for_each_vector(n, [&](auto part, int64_t i) {
        F v = (part.load(x + i) - mean) * inverse;
        if constexpr (kGamma) v *= part.load(run.gamma + i);
        if constexpr (kBeta) v += part.load(run.beta + i);
        part.store(y + i, v);
      });
      run.statistics[2 * row] = mean;
      run.statistics[2 * row + 1] = inverse;
    }
  }

  static void forward(const LayerNormalizationLoops::Forward& run) {
    if (run.gamma && run.beta) return forward_rows<true, true>(run);
    if (run.gamma) return forward_rows<true, false>(run);
    run.beta ? forward_rows<false, true>(run) : forward_rows<false, false>(run);
  }

  template <bool kGamma, bool kSums>
  static void backward_rows(const LayerNormalizationLoops::Backward& run) {
    const int64_t n = run.n;
    const double count = static_cast<double>(n);
    for (int64_t row = 0; row < run.rows; ++row) {
      const float* g = run.gradient + row * n;
      const float* x = run.x + row * n;
      const float mean = run.statistics[2 * row], inverse = run.statistics[2 * row + 1];
      F slopes = {}, products = {};
      for_each_vector(n, [&](auto part, int64_t i) {
        const F dy = part.load(g + i), x_hat = part.keep((part.load(x + i) - mean) * inverse);
        if constexpr (kSums) {
          part.store(run.sums + i, part.load(run.sums + i) + dy);
          part.store(run.sums + n + i, part.load(run.sums + n + i) + dy * x_hat);
        }
        F slope = dy;
        if constexpr (kGamma) slope *= part.load(run.gamma + i);
        slopes += slope;
        products += slope * x_hat;
      });
      const float mean_slope =
          run.centered ? static_cast<float>(static_cast<double>(sum(slopes)) / count) : 0.0f;
      const float mean_product = static_cast<float>(static_cast<double>(sum(products)) / count);
      float* dx = run.dx + row * n;
      for_each_vector(n, [&](auto part, int64_t i) {
        F slope = part.load(g + i);
        if constexpr (kGamma) slope *= part.load(run.gamma + i);
        const F x_hat = (part.load(x + i) - mean) * inverse;
        part.store(dx + i, (slope - mean_slope - x_hat * mean_product) * inverse);
      });
    }
  }

  static void backward(const LayerNormalizationLoops::Backward& run) {
    if (!run.sums) return run.gamma ? backward_rows<true, false>(run) : backward_rows<false, false>(run);
    for (int64_t i = 0; i < 2 * run.n; ++i) run.sums[i] = 0.0f;
    run.gamma ? backward_rows<true, true>(run) : backward_rows<false, true>(run);
  }
};

template <int kBytes>
constexpr LayerNormalizationLoops make_layer_normalization_loops() {
  using N = LayerNormalization<kBytes>;
  return {N::forward, N::backward};
}

}  // namespace nyala::vec
