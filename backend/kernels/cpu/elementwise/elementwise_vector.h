#pragma once

#include <nyala/backend/kernels/cpu/base/vector_lanes.h>
#include <nyala/backend/kernels/cpu/elementwise/elementwise_loops.h>

/// The loops of ElementwiseLoops as templates of the vector's bytes. See vector_lanes.h for what may be used
/// here.
namespace nyala::vec {

struct Add {
  static auto of(auto a, auto b) { return a + b; }
};
struct Subtract {
  static auto of(auto a, auto b) { return a - b; }
};
struct Multiply {
  static auto of(auto a, auto b) { return a * b; }
};
struct Divide {
  static auto of(auto a, auto b) { return a / b; }
};
struct Maximum {
  static auto of(auto a, auto b) { return ((a >= b) | (a != a)) ? a : b; }
};
struct Minimum {
  static auto of(auto a, auto b) { return ((a <= b) | (a != a)) ? a : b; }
};
struct SquaredDifference {
  static auto of(auto a, auto b) { return (a - b) * (a - b); }
};

template <int kBytes, class Formula, bool kScalarA, bool kScalarB>
void binary(const float* a, const float* b, float* y, int64_t count) {
  using L = Lanes<kBytes>;
  typename L::F va = kScalarA ? L::all(*a) : L::all(0), vb = kScalarB ? L::all(*b) : L::all(0);
  int64_t i = 0;
  for (; i + L::kCount <= count; i += L::kCount) {
    if constexpr (!kScalarA) va = L::load(a + i);
    if constexpr (!kScalarB) vb = L::load(b + i);
    L::store(y + i, Formula::of(va, vb));
  }
  if (i == count) return;
  if constexpr (!kScalarA) va = L::load_part(a + i, count - i);
  if constexpr (!kScalarB) vb = L::load_part(b + i, count - i);
  L::store_part(y + i, Formula::of(va, vb), count - i);
}

template <int kBytes, class Formula>
constexpr ElementwiseLoops::BinaryLoops binary_loops() {
  return {binary<kBytes, Formula, false, false>, binary<kBytes, Formula, true, false>,
          binary<kBytes, Formula, false, true>};
}

template <int kBytes>
struct Formulas {
  using L = Lanes<kBytes>;
  using F = typename L::F;

  struct Affine {
    static F of(F x, const float* p) { return x * p[0] + p[1]; }
  };
  struct Relu {
    static F of(F x, const float*) { return L::choose(x <= 0.0f, L::all(0), x); }
    static F slope(F y, F dy, const float*) { return L::choose(y > 0.0f, dy, L::all(0)); }
  };
  struct BoundedRelu {
    static F of(F x, const float* p) {
      const F low = p[0] == 0.0f ? L::choose(x == x, L::all(0), x) : x * p[0];
      return L::choose(x > 0.0f, L::choose(x > p[1], L::all(p[1]), x), low);
    }
    static F slope(F y, F dy, const float* p) {
      const F low = p[1] == p[1] ? L::choose(y == 0.0f, L::all(0), dy * p[0]) : dy * p[0];
      return L::choose(y > 0.0f, L::choose(y >= p[1], L::all(0), dy), low);
    }
  };
  struct Sigmoid {
    static F of(F x, const float*) { return L::sigmoid(x); }
    static F slope(F y, F dy, const float*) { return dy * (y * (1.0f - y)); }
  };
  struct Tanh {
    static F of(F x, const float*) { return L::tanh(x); }
    static F slope(F y, F dy, const float*) { return dy * (1.0f - y * y); }
  };
  struct Silu {
    static F of(F x, const float*) { return x * L::sigmoid(x); }
    static F slope(F x, F dy, const float*) {
      const F s = L::sigmoid(x);
      return dy * (s * (1.0f + x * (1.0f - s)));
    }
  };
  struct Gelu {
    /// erfc(-x / sqrt 2) / 2. With z = |x| / sqrt 2 and t = 1 / (1 + z / 2), log(erfc(z) / t) + z^2 is a
    /// polynomial of t within 3e-7, fitted at the Chebyshev points of [0.17, 1].
    static F share(F x) {
      const F z = L::absolute(x) * 0.70710678118f, t = 1.0f / (1.0f + 0.5f * z);
      F p = t * 0.14292431813915f + -0.66986406414610f;
      p = p * t + 1.1308356216438f;
      p = p * t + -0.66164001512667f;
      p = p * t + -0.10903463414900f;
      p = p * t + 0.016616923114087f;
      p = p * t + 0.029355676037834f;
      p = p * t + 0.38774431255027f;
      p = p * t + 0.99850349888347f;
      p = p * t + -1.2654415914721f;
      const F tail = 0.5f * t * L::exp(p - z * z);
      return L::choose(x < 0.0f, tail, 1.0f - tail);
    }
    static F of(F x, const float*) { return x * share(x); }
    static F slope(F x, F dy, const float*) {
      return dy * (share(x) + x * (L::exp(x * x * -0.5f) * 0.39894228040f));
    }
  };
  /// 0.5 (1 + tanh(u)) is sigmoid(2 u), which loses nothing for large -u.
  struct GeluTanh {
    static constexpr float kTwice = 1.59576912160f, kCube = 0.044715f;  // 2 sqrt(2 / pi)
    static F share(F x) { return L::sigmoid((x + x * x * x * kCube) * kTwice); }
    static F of(F x, const float*) { return x * share(x); }
    static F slope(F x, F dy, const float*) {
      const F s = share(x);
      return dy * (s + x * s * (1.0f - s) * (1.0f + x * x * (3.0f * kCube)) * kTwice);
    }
  };
  struct Elu {
    static F of(F x, const float* p) { return L::choose(x > 0.0f, x * p[0], L::expm1_below_0(x) * p[1]); }
    static F slope(F x, F dy, const float* p) {
      return dy * L::choose(x > 0.0f, L::all(p[0]), L::exp(x) * p[1]);
    }
  };
  struct Selu {
    static F slope(F x, F dy, const float* p) {
      return dy * L::choose(x < 0.0f, L::exp(x) * p[1], L::all(p[0]));
    }
  };
  struct Exp {
    static F of(F x, const float*) { return L::exp(x); }
  };
  struct Sqrt {
    static F of(F x, const float*) {
      F y;
      for (int64_t i = 0; i < L::kCount; ++i) y[i] = __builtin_sqrtf(x[i]);
      return y;
    }
  };
  struct Square {
    static F of(F x, const float*) { return x * x; }
    static F slope(F x, F dy, const float*) { return dy * (2.0f * x); }
  };
};

template <int kBytes, class Formula>
void unary(const float* x, float* y, int64_t count, const float* parameters) {
  using L = Lanes<kBytes>;
  int64_t i = 0;
  for (; i + L::kCount <= count; i += L::kCount) L::store(y + i, Formula::of(L::load(x + i), parameters));
  if (i == count) return;
  L::store_part(y + i, Formula::of(L::load_part(x + i, count - i), parameters), count - i);
}

template <int kBytes, class Formula>
void unary_gradient(const ElementwiseLoops::GradientRun& run, const float* parameters) {
  using L = Lanes<kBytes>;
  int64_t i = 0;
  for (; i + L::kCount <= run.count; i += L::kCount)
    L::store(run.dx + i, Formula::slope(L::load(run.kept + i), L::load(run.dy + i), parameters));
  const int64_t left = run.count - i;
  if (left == 0) return;
  const typename L::F kept = L::load_part(run.kept + i, left), dy = L::load_part(run.dy + i, left);
  L::store_part(run.dx + i, Formula::slope(kept, dy, parameters), left);
}

template <int kBytes, class From, class To>
void convert(const From* x, To* y, int64_t count) {
  for (int64_t i = 0; i < count; ++i) y[i] = static_cast<To>(x[i]);
}

template <int kBytes>
double chunk_sum(const float* x, int64_t count) {
  using L = Lanes<kBytes>;
  typename L::F sums[4] = {};
  int64_t i = 0;
  for (; i + 4 * L::kCount <= count; i += 4 * L::kCount)
    for (int64_t k = 0; k < 4; ++k) sums[k] += L::load(x + i + k * L::kCount);
  for (; i + L::kCount <= count; i += L::kCount) sums[0] += L::load(x + i);
  double total = 0;
  for (; i < count; ++i) total += static_cast<double>(x[i]);
  const typename L::F lanes = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  for (int64_t lane = 0; lane < L::kCount; ++lane) total += static_cast<double>(lanes[lane]);
  return total;
}

template <int kBytes>
double sum(const float* x, int64_t count) {
  constexpr int64_t kChunk = 4096;
  double total = 0;
  for (int64_t i = 0; i < count; i += kChunk)
    total += chunk_sum<kBytes>(x + i, count - i < kChunk ? count - i : kChunk);
  return total;
}

/// Sums of kVectors * lanes columns. Blocks of rows keep the number of additions in a row of roundings small.
template <int kBytes, int kVectors>
void wide_column_sums(const float* x, int64_t stride, int64_t rows, float* out) {
  using L = Lanes<kBytes>;
  constexpr int64_t kBlock = 64;
  typename L::F totals[kVectors] = {};
  for (int64_t first = 0; first < rows; first += kBlock) {
    const int64_t last = first + kBlock < rows ? first + kBlock : rows;
    typename L::F sums[kVectors] = {};
    for (int64_t row = first; row < last; ++row)
      for (int k = 0; k < kVectors; ++k) sums[k] += L::load(x + row * stride + k * L::kCount);
    for (int k = 0; k < kVectors; ++k) totals[k] += sums[k];
  }
  for (int k = 0; k < kVectors; ++k) L::store(out + k * L::kCount, totals[k]);
}

template <int kBytes>
void column_sums(const ElementwiseLoops::Block& block, float* out) {
  using L = Lanes<kBytes>;
  const float* x = block.x;
  int64_t c = 0;
  for (; c + 4 * L::kCount <= block.columns; c += 4 * L::kCount)
    wide_column_sums<kBytes, 4>(x + c, block.stride, block.rows, out + c);
  for (; c + L::kCount <= block.columns; c += L::kCount)
    wide_column_sums<kBytes, 1>(x + c, block.stride, block.rows, out + c);
  for (; c < block.columns; ++c) {
    double total = 0;
    for (int64_t row = 0; row < block.rows; ++row) total += static_cast<double>(x[row * block.stride + c]);
    out[c] = static_cast<float>(total);
  }
}

template <int kBytes>
constexpr ElementwiseLoops make_elementwise_loops() {
  using S = Formulas<kBytes>;
  return {.add = binary_loops<kBytes, Add>(),
          .subtract = binary_loops<kBytes, Subtract>(),
          .multiply = binary_loops<kBytes, Multiply>(),
          .divide = binary_loops<kBytes, Divide>(),
          .maximum = binary_loops<kBytes, Maximum>(),
          .minimum = binary_loops<kBytes, Minimum>(),
          .squared_difference = binary_loops<kBytes, SquaredDifference>(),
          .affine = unary<kBytes, typename S::Affine>,
          .relu = unary<kBytes, typename S::Relu>,
          .bounded_relu = unary<kBytes, typename S::BoundedRelu>,
          .sigmoid = unary<kBytes, typename S::Sigmoid>,
          .tanh = unary<kBytes, typename S::Tanh>,
          .silu = unary<kBytes, typename S::Silu>,
          .gelu = unary<kBytes, typename S::Gelu>,
          .gelu_tanh = unary<kBytes, typename S::GeluTanh>,
          .exp = unary<kBytes, typename S::Exp>,
          .sqrt = unary<kBytes, typename S::Sqrt>,
          .square = unary<kBytes, typename S::Square>,
          .elu = unary<kBytes, typename S::Elu>,
          .relu_gradient = unary_gradient<kBytes, typename S::Relu>,
          .bounded_relu_gradient = unary_gradient<kBytes, typename S::BoundedRelu>,
          .sigmoid_gradient = unary_gradient<kBytes, typename S::Sigmoid>,
          .tanh_gradient = unary_gradient<kBytes, typename S::Tanh>,
          .silu_gradient = unary_gradient<kBytes, typename S::Silu>,
          .gelu_gradient = unary_gradient<kBytes, typename S::Gelu>,
          .gelu_tanh_gradient = unary_gradient<kBytes, typename S::GeluTanh>,
          .square_gradient = unary_gradient<kBytes, typename S::Square>,
          .elu_gradient = unary_gradient<kBytes, typename S::Elu>,
          .selu_gradient = unary_gradient<kBytes, typename S::Selu>,
          .uint8_to_float = convert<kBytes, uint8_t, float>,
          .int32_to_float = convert<kBytes, int32_t, float>,
          .int64_to_float = convert<kBytes, int64_t, float>,
          .double_to_float = convert<kBytes, double, float>,
          .float_to_uint8 = convert<kBytes, float, uint8_t>,
          .float_to_int32 = convert<kBytes, float, int32_t>,
          .float_to_double = convert<kBytes, float, double>,
          .sum = sum<kBytes>,
          .column_sums = column_sums<kBytes>};
}

}  // namespace nyala::vec
