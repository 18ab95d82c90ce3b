#pragma once

#include <nyala/backend/kernels/cpu/base/vector_lanes.h>
#include <nyala/backend/kernels/cpu/recurrent/recurrent_loops.h>

/// What the loops of LSTM and GRU share, as templates of the vector's bytes. See vector_lanes.h for what may
/// be used here. Masked<kBytes> comes from the including file. A block is kRows rows by kVectors vectors,
/// whose sums stay in registers (32 of 64 bytes, 16 of 32 bytes).
namespace nyala::vec {

template <int kBytes>
struct Masked;

template <int kBytes>
struct Recurrent {
  using L = Lanes<kBytes>;
  using F = typename L::F;
  using Activation = RecurrentLoops::Activation;
  static constexpr int64_t kLanes = L::kCount;
  static constexpr int kMostRows = kBytes == 64 ? 6 : 3;

  struct Full {
    static F load(const float* p) { return L::load(p); }
    static void store(float* p, F v) { L::store(p, v); }
  };

  [[gnu::always_inline]] static F activated(F z, Activation f) {
    switch (f) {
      case Activation::relu:
        return L::choose(z <= 0.0f, F{}, z);
      case Activation::sigmoid:
        return L::sigmoid(z);
      case Activation::tanh:
        return L::tanh(z);
      case Activation::hard_sigmoid: {
        const F y = z / 6.0f + 0.5f;
        const F below = L::choose(y < 0.0f, F{}, y);
        return L::choose(below > 1.0f, L::all(1.0f), below);
      }
      case Activation::linear:
        break;
    }
    return z;
  }

  /// The slope of f at f(z) = y.
  [[gnu::always_inline]] static F slope(F y, Activation f) {
    switch (f) {
      case Activation::relu:
        return L::choose(y > 0.0f, L::all(1.0f), F{});
      case Activation::sigmoid:
        return y * (1.0f - y);
      case Activation::tanh:
        return 1.0f - y * y;
      case Activation::hard_sigmoid:
        return L::choose(y > 0.0f, L::choose(y < 1.0f, L::all(1.0f / 6.0f), F{}), F{});
      case Activation::linear:
        break;
    }
    return L::all(1.0f);
  }

  /// Rows in blocks of about one size: body.operator()<rows>(first).
  template <class Body>
  [[gnu::always_inline]] static void for_row_blocks(int64_t rows, Body&& body) {
    const int64_t blocks = (rows + kMostRows - 1) / kMostRows;
    int64_t first = 0;
    for (int64_t block = 0; block < blocks; ++block) {
      const int64_t count = (rows - first) / (blocks - block);
      with_number<kMostRows>(count, [&]<int kRows>() { body.template operator()<kRows>(first); });
      first += count;
    }
  }

  /// body(part, unit) for each vector of `units` units, the last perhaps in part.
  template <class Body>
  [[gnu::always_inline]] static void for_units(int64_t units, Body&& body) {
    int64_t unit = 0;
    for (; unit + kLanes <= units; unit += kLanes) body(Full{}, unit);
    if (unit < units) body(Masked<kBytes>(units - unit), unit);
  }

  /// sums += x . packed, where row r of x begins at x + r * stride.
  template <int kRows, int kVectors>
  [[gnu::always_inline]] static void multiply(const float* x, int64_t stride, int64_t inner,
                                              const float* packed, F (&sums)[kRows][kVectors]) {
    for (int64_t k = 0; k < inner; ++k, packed += kVectors * kLanes) {
      F w[kVectors];
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) w[v] = L::load(packed + v * kLanes);
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
        const F value = Masked<kBytes>::all(x[r * stride + k]);
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) sums[r][v] += value * w[v];
      }
    }
  }

  /// dh += dz . kernel^T: dz is (rows, inner), `stride` floats from row to row; `packed` as
  /// RecurrentLoops::packed_backward() says.
  struct StateBack {
    int64_t rows, units, inner;
    const float* dz;
    int64_t stride;
    const float* packed;
    float* dh;
  };

  static void state_back(const StateBack& s) {
    for (int64_t unit = 0; unit < s.units; unit += 4 * kLanes)
      for_row_blocks(s.rows, [&]<int kRows>(int64_t row) { state_block<kRows>(s, row, unit); });
  }

  template <int kRows>
  static void state_block(const StateBack& s, int64_t row, int64_t unit) {
    F sums[kRows][4] = {};
    multiply<kRows, 4>(s.dz + row * s.stride, s.stride, s.inner, s.packed + unit * s.inner, sums);
    for (int r = 0; r < kRows; ++r)
      for (int v = 0; v < 4; ++v) {
        float* to = s.dh + (row + r) * s.units + unit + v * kLanes;
        const int64_t count = s.units - unit - v * kLanes;
        if (count >= kLanes) {
          L::store(to, L::load(to) + sums[r][v]);
        } else if (count > 0) {
          const Masked<kBytes> part(count);
          part.store(to, part.load(to) + sums[r][v]);
        }
      }
  }
};

}  // namespace nyala::vec
