#pragma once

namespace nyala::vec {

/// One side of Winograd's transforms for 3 taps and `kTile` results: filters as Cook and Toom make them of
/// points where polynomials are multiplied. F is a vector of floats; results lie `stride` vectors apart.
/// A transform of an image or a kernel is that of its columns, then of its rows.
template <class F, int kTile>
struct WinogradSides;

/// F(2, 3): the points 0, 1, -1 and infinity.
template <class F>
struct WinogradSides<F, 2> {
  /// B^T d of four values.
  [[gnu::always_inline]] static void input(const F* d, F* out, int stride) {
    out[0] = d[0] - d[2];
    out[stride] = d[1] + d[2];
    out[2 * stride] = d[2] - d[1];
    out[3 * stride] = d[1] - d[3];
  }
  /// G g of three values.
  [[gnu::always_inline]] static void kernel(const F* g, F* out, int stride) {
    const F ends = (g[0] + g[2]) * 0.5f, middle = g[1] * 0.5f;
    out[0] = g[0];
    out[stride] = ends + middle;
    out[2 * stride] = ends - middle;
    out[3 * stride] = g[2];
  }
  /// A^T m of four values.
  [[gnu::always_inline]] static void result(const F* m, F* out, int stride) {
    out[0] = m[0] + m[1] + m[2];
    out[stride] = m[1] - m[2] - m[3];
  }
  /// A d of two values.
  [[gnu::always_inline]] static void gradient(const F* d, F* out, int stride) {
    out[0] = d[0];
    out[stride] = d[0] + d[1];
    out[2 * stride] = d[0] - d[1];
    out[3 * stride] = -d[1];
  }
  /// G^T u of four values.
  [[gnu::always_inline]] static void sums(const F* u, F* out, int stride) {
    const F both = (u[1] + u[2]) * 0.5f;
    out[0] = u[0] + both;
    out[stride] = (u[1] - u[2]) * 0.5f;
    out[2 * stride] = both + u[3];
  }
};

/// F(4, 3): the points 0, a, -a, b, -b and infinity, with a = 11/16 and b = 3/2. These have the smallest
/// largest error of all such pairs of sixteenths, a quarter of that of the usual 1 and 2; the squares and
/// their products are floats.
template <class F>
struct WinogradSides<F, 4> {
  static constexpr float a = 0.6875f, b = 1.5f, a2 = a * a, b2 = b * b, a3 = a * a2, b3 = b * b2;
  static constexpr float kProduct = a2 * b2, kSum = a2 + b2;
  /// What G divides by: the products of a point's distances from the others.
  static constexpr float kOf0 = 1.0f / kProduct, kOfA = 0.5f / (a2 * (a2 - b2)),
                         kOfB = 0.5f / (b2 * (b2 - a2));

  /// The even and the odd part of a polynomial at a point: it is their sum there, and their difference at the
  /// point's negative.
  struct Parts {
    F even, odd;
  };
  [[gnu::always_inline]] static void put_pairs(const Parts& at_a, const Parts& at_b, F* out, int stride) {
    out[stride] = at_a.even + at_a.odd;
    out[2 * stride] = at_a.even - at_a.odd;
    out[3 * stride] = at_b.even + at_b.odd;
    out[4 * stride] = at_b.even - at_b.odd;
  }

  /// B^T d of six values.
  [[gnu::always_inline]] static void input(const F* d, F* out, int stride) {
    out[0] = kProduct * d[0] - kSum * d[2] + d[4];
    put_pairs({d[4] - b2 * d[2], a * (d[3] - b2 * d[1])}, {d[4] - a2 * d[2], b * (d[3] - a2 * d[1])}, out,
              stride);
    out[5 * stride] = kProduct * d[1] - kSum * d[3] + d[5];
  }
  /// G g of three values.
  [[gnu::always_inline]] static void kernel(const F* g, F* out, int stride) {
    out[0] = g[0] * kOf0;
    put_pairs({(g[0] + a2 * g[2]) * kOfA, g[1] * (a * kOfA)}, {(g[0] + b2 * g[2]) * kOfB, g[1] * (b * kOfB)},
              out, stride);
    out[5 * stride] = g[2];
  }
  /// A^T m of six values.
  [[gnu::always_inline]] static void result(const F* m, F* out, int stride) {
    const F sum_a = m[1] + m[2], sum_b = m[3] + m[4], difference_a = m[1] - m[2], difference_b = m[3] - m[4];
    out[0] = m[0] + sum_a + sum_b;
    out[stride] = a * difference_a + b * difference_b;
    out[2 * stride] = a2 * sum_a + b2 * sum_b;
    out[3 * stride] = a3 * difference_a + b3 * difference_b + m[5];
  }
  /// A d of four values.
  [[gnu::always_inline]] static void gradient(const F* d, F* out, int stride) {
    out[0] = d[0];
    put_pairs({d[0] + a2 * d[2], a * d[1] + a3 * d[3]}, {d[0] + b2 * d[2], b * d[1] + b3 * d[3]}, out,
              stride);
    out[5 * stride] = d[3];
  }
  /// G^T u of six values.
  [[gnu::always_inline]] static void sums(const F* u, F* out, int stride) {
    const F sum_a = (u[1] + u[2]) * kOfA, sum_b = (u[3] + u[4]) * kOfB;
    out[0] = u[0] * kOf0 + sum_a + sum_b;
    out[stride] = (u[1] - u[2]) * (a * kOfA) + (u[3] - u[4]) * (b * kOfB);
    out[2 * stride] = a2 * sum_a + b2 * sum_b + u[5];
  }
};

}  // namespace nyala::vec
