#pragma once

#include <nyala/backend/kernels/cpu/base/vector_lanes.h>
#include <nyala/backend/kernels/cpu/convolution/direct_convolution_loops.h>

/// The loops of DirectConvolutionLoops as templates of the vector's bytes. See vector_lanes.h for what may be
/// used here. Masked<kBytes> comes from the including file. Blocks are chosen so that their sums stay in
/// registers (32 of 64 bytes, 16 of 32 bytes).
namespace nyala::vec {

template <int kBytes>
struct Masked;

template <int kBytes>
struct DirectConvolution {
  using L = Lanes<kBytes>;
  using F = typename L::F;
  using Shape = DirectConvolutionLoops::Shape;
  using Activation = DirectConvolutionLoops::Activation;
  static constexpr bool kWide = kBytes == 64;

  /// kVectors vectors of memory, of which `count` floats are there.
  template <int kVectors>
  struct Part {
    Masked<kBytes> mask;

    explicit Part(int64_t count)
        : mask(count < kVectors * L::kCount ? count - (kVectors - 1) * L::kCount : L::kCount) {}
    [[gnu::always_inline]] void load(const float* p, F (&v)[kVectors]) const {
#pragma GCC unroll 16
      for (int i = 0; i + 1 < kVectors; ++i) v[i] = L::load(p + i * L::kCount);
      v[kVectors - 1] = mask.load(p + (kVectors - 1) * L::kCount);
    }
    [[gnu::always_inline]] void store(float* p, const F (&v)[kVectors]) const {
#pragma GCC unroll 16
      for (int i = 0; i + 1 < kVectors; ++i) L::store(p + i * L::kCount, v[i]);
      mask.store(p + (kVectors - 1) * L::kCount, v[kVectors - 1]);
    }
  };

  /// Keeps the compiler from loading v again at every use.
  [[gnu::always_inline]] static void pin(F& v) { asm("" : "+v"(v)); }

  // ---- forward: lanes are filters, a block is kPixels pixels by kVectors vectors of filters

  static constexpr int kForwardVectors = kWide ? 4 : 2, kFewVectors = 8;

  struct Forward {
    const float *x, *kernel, *bias;
    float* y;
    Activation activation;
    int64_t filters_left;
  };

  template <int kVectors, int kPixels>
  static void forward_block(const Shape& s, const Forward& in, int64_t first_pixel) {
    const Part<kVectors> part(in.filters_left);
    const float* pixels[kPixels];
    F sums[kPixels][kVectors];
    F start[kVectors] = {};
    if (in.bias) part.load(in.bias, start);
#pragma GCC unroll 16
    for (int p = 0; p < kPixels; ++p) {
      const int64_t pixel = first_pixel + p;
      pixels[p] =
          in.x + pixel / s.out_width * s.stride_y * s.row + pixel % s.out_width * s.stride_x * s.channels;
#pragma GCC unroll 16
      for (int v = 0; v < kVectors; ++v) sums[p][v] = start[v];
    }
    const float* kernel = in.kernel;
    const int64_t run = s.run();
    for (int64_t ky = 0; ky < s.kernel_height; ++ky)
      for (int64_t r = 0; r < run; ++r, kernel += s.filters) {
        F k[kVectors];
        part.load(kernel, k);
#pragma GCC unroll 16
        for (int v = 0; v < kVectors && kPixels > 1; ++v) pin(k[v]);
#pragma GCC unroll 16
        for (int p = 0; p < kPixels; ++p) {
          const F value = Masked<kBytes>::all(pixels[p][ky * s.row + r]);
#pragma GCC unroll 16
          for (int v = 0; v < kVectors; ++v) sums[p][v] += value * k[v];
        }
      }
#pragma GCC unroll 16
    for (int p = 0; p < kPixels; ++p) {
#pragma GCC unroll 16
      for (int v = 0; v < kVectors; ++v) sums[p][v] = L::activated(sums[p][v], in.activation);
      part.store(in.y + (first_pixel + p) * s.filters, sums[p]);
    }
  }

  /// The last block is moved back so that it ends with the last pixel: some pixels are computed twice.
  template <int kVectors>
  static void forward_pixels(const Shape& s, const Forward& in) {
    constexpr int kPixels = kWide ? (kVectors == 4 ? 6 : kVectors == 1 ? 10 : 8) : (kVectors == 2 ? 5 : 8);
    const int64_t pixels = s.out_height * s.out_width;
    if (pixels < kPixels) {
      for (int64_t p = 0; p < pixels; ++p) forward_block<kVectors, 1>(s, in, p);
      return;
    }
    for (int64_t p = 0; p < pixels; p += kPixels)
      forward_block<kVectors, kPixels>(s, in, p + kPixels <= pixels ? p : pixels - kPixels);
  }

  /// Calls f.template operator()<kVectors>(in) for blocks of at most kLargest vectors of filters.
  template <int kLargest, class Body>
  [[gnu::always_inline]] static void for_filter_blocks(const Shape& s, const Forward& all, Body&& f) {
    for (int64_t o = 0; o < s.filters; o += kLargest * L::kCount) {
      const int64_t left = s.filters - o;
      const Forward in{all.x,     all.kernel + o, all.bias ? all.bias + o : nullptr,
                       all.y + o, all.activation, left};
      with_number<kLargest>((left + L::kCount - 1) / L::kCount,
                            [&]<int kVectors>() { f.template operator()<kVectors>(in); });
    }
  }

  /// A kernel of one tap: an outer product, as the gradient of a dense kernel by one row is.
  static void forward_one_tap(const Shape& s, const Forward& all) {
    for_filter_blocks<kFewVectors>(s, all, [&]<int kVectors>(const Forward& in) {
      const Part<kVectors> part(in.filters_left);
      F k[kVectors];
      part.load(in.kernel, k);
      for (int64_t p = 0; p < s.out_width; ++p) {
        const F value = Masked<kBytes>::all(in.x[p]);
        F products[kVectors];
#pragma GCC unroll 16
        for (int v = 0; v < kVectors; ++v) products[v] = value * k[v];
        part.store(in.y + p * s.filters, products);
      }
    });
  }

  /// Few pixels, as the rows of a small dense layer, are computed one by one, by more vectors.
  static void forward(const Shape& s, const float* x, const float* kernel, const float* bias,
                      Activation activation, float* y) {
    constexpr int64_t kFew = 4;
    const Forward all{x, kernel, bias, y, activation, s.filters};
    const int64_t pixels = s.out_height * s.out_width;
    const bool has_one_tap = s.kernel_height * s.run() == 1 && s.out_height == 1 && s.stride_x == 1;
    if (has_one_tap && !bias && activation == Activation::linear) return forward_one_tap(s, all);
    if (pixels > kFew)
      return for_filter_blocks<kForwardVectors>(
          s, all, [&]<int kVectors>(const Forward& in) { forward_pixels<kVectors>(s, in); });
    for_filter_blocks<kFewVectors>(s, all, [&]<int kVectors>(const Forward& in) {
      for (int64_t p = 0; p < pixels; ++p) forward_block<kVectors, 1>(s, in, p);
    });
  }

  // ---- gradients: lanes are the taps of a run, a block is kVectors vectors by several pixels or filters

  static constexpr int kRunVectors = kWide ? 4 : 2;
  template <int kVectors>
  static constexpr int kOthers = kWide ? (kVectors == 4   ? 6
                                          : kVectors == 3 ? 8
                                                          : 10)
                                       : (kVectors == 2 ? 5 : 8);

  /// Cuts `total` into parts of nearly equal size, at most `largest`; calls body(first, size).
  template <class Body>
  [[gnu::always_inline]] static void for_even_parts(int64_t total, int64_t largest, Body&& body) {
    const int64_t parts = (total + largest - 1) / largest;
    for (int64_t part = 0; part < parts; ++part) {
      const int64_t first = part * total / parts;
      body(first, (part + 1) * total / parts - first);
    }
  }

  /// Calls f.template operator()<kVectors>(first float, floats left) for blocks of the run of at most
  /// `largest` vectors.
  template <class Body>
  [[gnu::always_inline]] static void for_run_blocks(const Shape& s, int64_t largest, Body&& f) {
    for_even_parts((s.run() + L::kCount - 1) / L::kCount, largest, [&](int64_t first, int64_t size) {
      const int64_t r = first * L::kCount;
      with_number<kRunVectors>(size,
                               [&]<int kVectors>() { f.template operator()<kVectors>(r, s.run() - r); });
    });
  }

  /// The kernel rows that put something into row `iy` of the image: ky = first, first + stride_y, ... < end,
  /// taken from rows oy = (iy - ky) / stride_y of the output.
  struct KernelRows {
    int64_t first, end;
    KernelRows(const Shape& s, int64_t iy) : first(iy % s.stride_y), end(s.kernel_height) {
      const int64_t lowest = iy - (s.out_height - 1) * s.stride_y;
      if (lowest > first) first = lowest;
      if (end > iy + 1) end = iy + 1;
    }
  };

  /// Taps of kPixels pixels of the output, for one row of the image.
  template <int kVectors, int kPixels>
  static void backward_input_block(const Shape& s, const float* dz, const float* packed, int64_t iy,
                                   float* columns) {
    const KernelRows rows(s, iy);
    F sums[kPixels][kVectors] = {};
    const float* g = dz + (iy - rows.first) / s.stride_y * s.out_width * s.filters;
    for (int64_t ky = rows.first; ky < rows.end; ky += s.stride_y, g -= s.out_width * s.filters) {
      const float* row = packed + ky * s.filters * s.packed_run;
      for (int64_t o = 0; o < s.filters; ++o, row += s.packed_run) {
        F k[kVectors];
#pragma GCC unroll 16
        for (int v = 0; v < kVectors; ++v) k[v] = L::load(row + v * L::kCount), pin(k[v]);
#pragma GCC unroll 16
        for (int p = 0; p < kPixels; ++p) {
          const F value = Masked<kBytes>::all(g[p * s.filters + o]);
#pragma GCC unroll 16
          for (int v = 0; v < kVectors; ++v) sums[p][v] += value * k[v];
        }
      }
    }
#pragma GCC unroll 16
    for (int p = 0; p < kPixels; ++p)
#pragma GCC unroll 16
      for (int v = 0; v < kVectors; ++v) L::store(columns + p * s.packed_run + v * L::kCount, sums[p][v]);
  }

  /// Adds up the taps that fall on each pixel of one row of the image.
  static void gather_row(const Shape& s, const float* columns, float* dx) {
    const int64_t pixels = s.row / s.channels;
    for (int64_t ix = 0; ix < pixels; ++ix) {
      int64_t kx = ix % s.stride_x;
      const int64_t lowest = ix - (s.out_width - 1) * s.stride_x;
      if (lowest > kx) kx = lowest;
      const int64_t end = s.kernel_width < ix + 1 ? s.kernel_width : ix + 1;
      const float* first = columns + (ix - kx) / s.stride_x * s.packed_run + kx * s.channels;
      for (int64_t c = 0; c < s.channels; c += L::kCount) {
        const Part<1> part(s.channels - c);
        const float* at = first + c;
        F sum[1] = {};
        for (int64_t k = kx; k < end; k += s.stride_x, at += s.stride_x * s.channels - s.packed_run) {
          F tap[1];
          part.load(at, tap);
          sum[0] += tap[0];
        }
        part.store(dx + ix * s.channels + c, sum);
      }
    }
  }

  /// As many vectors of the run as let their part of the kernel stay in the first cache.
  static int64_t cached_vectors(const Shape& s) {
    constexpr int64_t kCache = 32768;
    const int64_t fit = kCache / (s.kernel_height * s.filters * kBytes);
    return fit < 1 ? 1 : fit > kRunVectors ? kRunVectors : fit;
  }

  static void backward_input(const Shape& s, const float* dz, const float* packed, float* columns,
                             float* dx) {
    const int64_t columns_row = s.out_width * s.packed_run;
    for_run_blocks(s, cached_vectors(s), [&]<int kVectors>(int64_t r, int64_t) {
      for (int64_t iy = 0; iy < s.rows; ++iy)
        for_even_parts(s.out_width, kOthers<kVectors>, [&](int64_t ox, int64_t size) {
          with_number<kOthers<kVectors>>(size, [&]<int kPixels>() {
            backward_input_block<kVectors, kPixels>(s, dz + ox * s.filters, packed + r, iy,
                                                    columns + iy * columns_row + ox * s.packed_run + r);
          });
        });
    });
    for (int64_t iy = 0; iy < s.rows; ++iy) gather_row(s, columns + iy * columns_row, dx + iy * s.row);
  }

  template <int kVectors, int kFilters>
  static void backward_kernel_block(const Shape& s, const float* x, const float* dz, float* out,
                                    int64_t left) {
    const Part<kVectors> part(left);
    F sums[kFilters][kVectors];
#pragma GCC unroll 16
    for (int o = 0; o < kFilters; ++o)
#pragma GCC unroll 16
      for (int v = 0; v < kVectors; ++v) sums[o][v] = L::load(out + o * s.packed_run + v * L::kCount);
    for (int64_t oy = 0; oy < s.out_height; ++oy)
      for (int64_t ox = 0; ox < s.out_width; ++ox, dz += s.filters) {
        F taps[kVectors];
        part.load(x + oy * s.stride_y * s.row + ox * s.stride_x * s.channels, taps);
#pragma GCC unroll 16
        for (int v = 0; v < kVectors; ++v) pin(taps[v]);
#pragma GCC unroll 16
        for (int o = 0; o < kFilters; ++o) {
          const F value = Masked<kBytes>::all(dz[o]);
#pragma GCC unroll 16
          for (int v = 0; v < kVectors; ++v) sums[o][v] += value * taps[v];
        }
      }
#pragma GCC unroll 16
    for (int o = 0; o < kFilters; ++o)
#pragma GCC unroll 16
      for (int v = 0; v < kVectors; ++v) L::store(out + o * s.packed_run + v * L::kCount, sums[o][v]);
  }

  static void backward_kernel(const Shape& s, const float* x, const float* dz, float* sums) {
    for (int64_t ky = 0; ky < s.kernel_height; ++ky)
      for_run_blocks(s, kRunVectors, [&]<int kVectors>(int64_t r, int64_t left) {
        float* out = sums + ky * s.filters * s.packed_run + r;
        for_even_parts(s.filters, kOthers<kVectors>, [&](int64_t o, int64_t size) {
          with_number<kOthers<kVectors>>(size, [&]<int kFilters>() {
            backward_kernel_block<kVectors, kFilters>(s, x + ky * s.row + r, dz + o, out + o * s.packed_run,
                                                      left);
          });
        });
      });
  }

  // ---- a matrix by a vector

  static float sum_of_lanes(F v) {
    float lanes[L::kCount];
    L::store(lanes, v);
#pragma GCC unroll 4
    for (int64_t half = L::kCount / 2; half > 0; half /= 2)
#pragma GCC unroll 8
      for (int64_t i = 0; i < half; ++i) lanes[i] += lanes[i + half];
    return lanes[0];
  }

  template <int kRows>
  static void multiply_block(const DirectConvolutionLoops::Rows& rows, const float* x, float* y) {
    F sums[kRows] = {};
    int64_t i = 0;
    for (; i + L::kCount <= rows.length; i += L::kCount) {
      const F value = L::load(x + i);
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) sums[r] += value * L::load(rows.data + r * rows.length + i);
    }
    if (i < rows.length) {
      const Masked<kBytes> rest(rows.length - i);
      const F value = rest.load(x + i);
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) sums[r] += value * rest.load(rows.data + r * rows.length + i);
    }
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) y[r] = sum_of_lanes(sums[r]);
  }

  static void multiply_rows(const DirectConvolutionLoops::Rows& rows, const float* x, float* y) {
    constexpr int kRows = 8;
    for (int64_t r = 0; r < rows.count; r += kRows)
      with_number<kRows>(rows.count - r, [&]<int kCount>() {
        multiply_block<kCount>({rows.data + r * rows.length, kCount, rows.length}, x, y + r);
      });
  }
};

template <int kBytes>
constexpr DirectConvolutionLoops make_direct_convolution_loops() {
  using D = DirectConvolution<kBytes>;
  return {D::forward, D::backward_input, D::backward_kernel, D::multiply_rows};
}

}  // namespace nyala::vec
