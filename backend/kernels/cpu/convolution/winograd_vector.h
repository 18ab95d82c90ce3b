#pragma once

#include <nyala/backend/kernels/cpu/base/vector_lanes.h>
#include <nyala/backend/kernels/cpu/convolution/winograd_loops.h>
#include <nyala/backend/kernels/cpu/convolution/winograd_sides.h>

/// The loops of WinogradLoops as templates of the vector's bytes and of the tile. See vector_lanes.h for what
/// may be used here. Products are blocks of rows by vectors whose sums stay in registers (32 of 64 bytes, 16
/// of 32 bytes).
namespace nyala::vec {

template <int kBytes>
struct Masked;

template <int kBytes, int kTile>
struct Winograd {
  using L = Lanes<kBytes>;
  using F = typename L::F;
  using Sides = WinogradSides<F, kTile>;
  using Shape = WinogradLoops::Shape;
  using Tiles = WinogradLoops::Tiles;
  using Result = WinogradLoops::Result;
  using Activation = WinogradLoops::Activation;
  static constexpr bool kWide = kBytes == 64;
  static constexpr int64_t kLanes = L::kCount, kColumn = WinogradLoops::kColumn;
  static constexpr int kSide = kTile + 2, kPoints = kSide * kSide, kResults = kTile * kTile;
  static constexpr int kPanelVectors = kWide ? 4 : 2;
  static constexpr int64_t kPanel = kPanelVectors * kLanes;

  /// Calls f(first filter, width) for each panel.
  template <class Body>
  [[gnu::always_inline]] static void for_each_panel(int64_t filters, Body&& f) {
    for (int64_t o = 0; o < filters; o += kPanel) f(o, filters - o < kPanel ? filters - o : kPanel);
  }

  // ---- points as vectors, row by row

  /// Rows to columns and back, so that both sides of a transform are the same code.
  template <int kRows, int kColumns, class Body>
  [[gnu::always_inline]] static void on_each_row(F* from, F* to, Body&& transform) {
#pragma GCC unroll 6
    for (int i = 0; i < kRows; ++i) transform(from + i * kColumns, to + i, kRows);
  }

  // ---- the kernel

  /// Of `count` filters' vectors at `taps`, nine runs `tap` floats apart.
  static void kernel_points(const float* taps, int64_t tap, float* points, int64_t plane) {
    F g[9], half[3 * kSide], u[kPoints];
#pragma GCC unroll 9
    for (int i = 0; i < 9; ++i) g[i] = L::load(taps + i * tap);
    on_each_row<3, 3>(g, half, Sides::kernel);
    on_each_row<kSide, 3>(half, u, Sides::kernel);
#pragma GCC unroll 36
    for (int i = 0; i < kPoints; ++i) L::store(points + i * plane, u[i]);
  }

  static void transform_kernel(const Shape& s, const float* kernel, bool turned, int64_t first, int64_t end,
                               float* points) {
    const int64_t plane = s.channels * s.filters, tap = plane;
    float block[9 * kColumn * kColumn];  // turned: (taps, channels, filters) of a part
    for (int64_t c = first; c < end; c += kColumn)
      for (int64_t o = 0; o < s.filters; o += kColumn) {
        if (turned)
          for (int64_t i = 0; i < 9; ++i)
            for (int64_t f = 0; f < kColumn; ++f) {
              const float* row = kernel + (8 - i) * tap + (o + f) * s.channels + c;
              for (int64_t k = 0; k < kColumn; ++k) block[(i * kColumn + k) * kColumn + f] = row[k];
            }
        const int64_t panel = o / kPanel * kPanel, left = s.filters - panel;
        const int64_t width = left < kPanel ? left : kPanel;
        for (int64_t k = 0; k < kColumn; ++k)
          for (int64_t f = 0; f < kColumn; f += kLanes) {
            const float* taps = turned ? block + k * kColumn + f : kernel + (c + k) * s.filters + o + f;
            kernel_points(taps, turned ? kColumn * kColumn : tap,
                          points + panel * s.channels + (c + k) * width + (o - panel) + f, plane);
          }
      }
  }

  // ---- images

  /// Where the values of a tile lie: `size` x `size` of them from (y, x), outside of the image zeros.
  template <int kSize>
  struct Window {
    const float* values[kSize * kSize];

    Window(const float* image, const float* zeros, const int64_t (&sizes)[3], int64_t y, int64_t x) {
      const auto [height, width, channels] = sizes;
#pragma GCC unroll 6
      for (int i = 0; i < kSize; ++i)
#pragma GCC unroll 6
        for (int j = 0; j < kSize; ++j) {
          const bool inside = y + i >= 0 && y + i < height && x + j >= 0 && x + j < width;
          values[i * kSize + j] = inside ? image + ((y + i) * width + x + j) * channels : zeros;
        }
    }
    [[gnu::always_inline]] void load(int64_t c, F (&v)[kSize * kSize]) const {
#pragma GCC unroll 36
      for (int i = 0; i < kSize * kSize; ++i) v[i] = L::load(values[i] + c);
    }
  };

  struct Range {
    int64_t begin, end;
  };

  /// Calls f(tile, image, row, column of the tile) for those of `range` in their order.
  template <class Body>
  [[gnu::always_inline]] static void for_each_tile(const Shape& s, const Tiles& tiles, const Range& range,
                                                   Body&& f) {
    const int64_t across = s.tiles_across(), of_image = s.tiles_of_image();
    for (int64_t t = range.begin; t < range.end; ++t) {
      const int64_t all = tiles.first + t, image = all / of_image, place = all % of_image;
      f(t, image, place / across, place % across);
    }
  }

  struct Input {
    const float *values, *zeros;
  };

  /// `place(tile, channel)`: where a value lies in each plane.
  template <class Place>
  [[gnu::always_inline]] static void transform_input(const Shape& s, const Input& in, const Tiles& tiles,
                                                     const Range& range, Place&& place) {
    const int64_t sizes[3] = {s.height, s.width, s.channels};
    const auto [x, zeros] = in;
    for_each_tile(s, tiles, range, [&](int64_t t, int64_t image, int64_t row, int64_t column) {
      const Window<kSide> window(x + image * s.height * s.width * s.channels, zeros, sizes,
                                 kTile * row - s.pad_top, kTile * column - s.pad_left);
      for (int64_t c = 0; c < s.channels; c += kLanes) {
        F d[kPoints], half[kPoints], v[kPoints];
        window.load(c, d);
        on_each_row<kSide, kSide>(d, half, Sides::input);
        on_each_row<kSide, kSide>(half, v, Sides::input);
        float* to = tiles.points + place(t, c);
#pragma GCC unroll 36
        for (int i = 0; i < kPoints; ++i) L::store(to + i * tiles.plane, v[i]);
      }
    });
  }

  static void transform_rows(const Shape& s, const float* x, const float* zeros, const Tiles& tiles) {
    transform_input(s, {x, zeros}, tiles, {0, tiles.count},
                    [&](int64_t t, int64_t c) { return t * s.channels + c; });
  }
  static void transform_columns(const Shape& s, const float* x, const float* zeros, const Tiles& tiles,
                                int64_t begin, int64_t end) {
    transform_input(s, {x, zeros}, tiles, {begin, end}, [&](int64_t t, int64_t c) {
      return (c / kColumn * tiles.count + t) * kColumn + c % kColumn;
    });
  }

  static void transform_gradient(const Shape& s, const float* dz, const float* zeros, const Tiles& tiles,
                                 int64_t begin, int64_t end) {
    const int64_t sizes[3] = {s.out_height, s.out_width, s.filters};
    for_each_tile(s, tiles, {begin, end}, [&](int64_t t, int64_t image, int64_t row, int64_t column) {
      const Window<kTile> window(dz + image * s.out_height * s.out_width * s.filters, zeros, sizes,
                                 kTile * row, kTile * column);
      for_each_panel(s.filters, [&](int64_t panel, int64_t width) {
        for (int64_t o = 0; o < width; o += kLanes) {
          F d[kResults], half[kSide * kTile], w[kPoints];
          window.load(panel + o, d);
          on_each_row<kTile, kTile>(d, half, Sides::gradient);
          on_each_row<kSide, kTile>(half, w, Sides::gradient);
          float* to = tiles.points + panel * tiles.count + t * width + o;
#pragma GCC unroll 36
          for (int i = 0; i < kPoints; ++i) L::store(to + i * tiles.plane, w[i]);
        }
      });
    });
  }

  static F activated(F z, Activation activation) {
    if (activation == Activation::linear) return z;
    z = L::choose(z <= 0.0f, F{}, z);
    return activation == Activation::relu6 ? L::choose(z > 6.0f, L::all(6.0f), z) : z;
  }

  static void transform_result(const Shape& s, const Tiles& products, const Result& result) {
    for_each_tile(
        s, products, {0, products.count}, [&](int64_t t, int64_t image, int64_t row, int64_t column) {
          const int64_t left = s.out_width - kTile * column, below = s.out_height - kTile * row;
          float* corner =
              result.y + ((image * s.out_height + kTile * row) * s.out_width + kTile * column) * s.filters;
          for (int64_t o = 0; o < s.filters; o += kLanes) {
            F m[kPoints], half[kTile * kSide], z[kResults];
            const float* from = products.points + t * s.filters + o;
#pragma GCC unroll 36
            for (int i = 0; i < kPoints; ++i) m[i] = L::load(from + i * products.plane);
            on_each_row<kSide, kSide>(m, half, Sides::result);
            on_each_row<kTile, kSide>(half, z, Sides::result);
            const F bias = result.bias ? L::load(result.bias + o) : F{};
#pragma GCC unroll 16
            for (int i = 0; i < kResults; ++i) {
              if (i / kTile >= below || i % kTile >= left) continue;
              float* to = corner + (i / kTile * s.out_width + i % kTile) * s.filters + o;
              const F sum = result.adds ? L::load(to) + z[i] : z[i];
              L::store(to, activated(sum + bias, result.activation));
            }
          }
        });
  }

  // ---- products

  /// One factor: value (row, step) at data[row * row_stride + step * step_stride].
  struct Factor {
    const float* data;
    int64_t row_stride, step_stride;
  };
  struct Sums {
    float* data;
    int64_t row_stride;
    bool adds;
  };

  /// Rows of `a` times a panel of kVectors vectors, which lie `b_step` floats apart for each step.
  template <int kRows, int kVectors>
  [[gnu::noinline]] static void block(const Factor& a, const float* b, int64_t b_step, int64_t steps,
                                      const Sums& c) {
    F sums[kRows][kVectors] = {};
    const float* at = a.data;
    const int64_t row = a.row_stride, step = a.step_stride;
    for (int64_t k = 0; k < steps; ++k, at += step, b += b_step) {
      F v[kVectors];
#pragma GCC unroll 4
      for (int i = 0; i < kVectors; ++i) v[i] = L::load(b + i * kLanes);
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) {
        const F value = Masked<kBytes>::all(at[r * row]);
#pragma GCC unroll 4
        for (int i = 0; i < kVectors; ++i) sums[r][i] += value * v[i];
      }
    }
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 4
      for (int i = 0; i < kVectors; ++i) {
        float* to = c.data + r * c.row_stride + i * kLanes;
        L::store(to, c.adds ? L::load(to) + sums[r][i] : sums[r][i]);
      }
  }

  /// Rows in a block of that many vectors.
  static constexpr int rows_of(int vectors) { return kWide && vectors < 3 ? 12 : 6; }

  /// `rows` rows of a product, as blocks of as many as stay in registers.
  template <int kVectors>
  static void panel_product(const Factor& a, int64_t rows, const float* b, int64_t b_step, int64_t steps,
                            const Sums& c) {
    constexpr int kRows = rows_of(kVectors);
    for (int64_t r = 0; r < rows; r += kRows) {
      const Factor of_block{a.data + r * a.row_stride, a.row_stride, a.step_stride};
      const Sums to{c.data + r * c.row_stride, c.row_stride, c.adds};
      with_number<kRows>(rows - r,
                         [&]<int kCount>() { block<kCount, kVectors>(of_block, b, b_step, steps, to); });
    }
  }

  static void multiply(const Shape& s, const Tiles& rows, const float* kernel, const Tiles& products) {
    for (int64_t point = 0; point < kPoints; ++point) {
      const Factor a{rows.points + point * rows.plane, s.channels, 1};
      const float* b = kernel + point * s.channels * s.filters;
      float* c = products.points + point * products.plane;
      for_each_panel(s.filters, [&](int64_t panel, int64_t width) {
        with_number<kPanelVectors>(width / kLanes, [&]<int kVectors>() {
          panel_product<kVectors>(a, rows.count, b + panel * s.channels, width, s.channels,
                                  {c + panel, s.filters, false});
        });
      });
    }
  }

  static void add_products(const Shape& s, const float* columns, const float* gradients, int64_t tiles,
                           int64_t channel, float* sums) {
    const Factor a{columns + channel * tiles, 1, kColumn};
    for_each_panel(s.filters, [&](int64_t panel, int64_t width) {
      with_number<kPanelVectors>(width / kLanes, [&]<int kVectors>() {
        panel_product<kVectors>(a, kColumn, gradients + panel * tiles, width, tiles,
                                {sums + channel * s.filters + panel, s.filters, true});
      });
    });
  }

  // ---- the kernel's gradient

  static void transform_sums(const Shape& s, const float* sums, int64_t first, int64_t end, float* gradient) {
    const int64_t plane = s.channels * s.filters;
    for (int64_t i = first * s.filters; i < end * s.filters; i += kLanes) {
      F u[kPoints], half[3 * kSide], g[9];
#pragma GCC unroll 36
      for (int p = 0; p < kPoints; ++p) u[p] = L::load(sums + p * plane + i);
      on_each_row<kSide, kSide>(u, half, Sides::sums);
      on_each_row<3, kSide>(half, g, Sides::sums);
#pragma GCC unroll 9
      for (int t = 0; t < 9; ++t) L::store(gradient + t * plane + i, g[t]);
    }
  }
};

template <int kBytes, int kTile>
constexpr WinogradLoops make_winograd_loops() {
  using W = Winograd<kBytes, kTile>;
  return {W::kPanel,           W::transform_kernel,   W::transform_rows, W::transform_columns, W::multiply,
          W::transform_result, W::transform_gradient, W::add_products,   W::transform_sums};
}

}  // namespace nyala::vec
