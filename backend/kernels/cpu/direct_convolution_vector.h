#pragma once

#include <nyala/backend/kernels/cpu/direct_convolution_loops.h>
#include <nyala/backend/kernels/cpu/vector_lanes.h>

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

  /// Calls f.template operator()<n>() for n = 1 ... kLargest.
  template <int kLargest, class Body>
  [[gnu::always_inline]] static void with_number(int64_t n, Body&& f) {
    if constexpr (kLargest > 1) {
      if (n < kLargest) return with_number<kLargest - 1>(n, f);
    }
    f.template operator()<kLargest>();
  }

  /// kVectors vectors of memory, the last with `last` lanes only.
  template <int kVectors>
  struct Part {
    bool whole;
    Masked<kBytes> mask;

    explicit Part(int64_t count)
        : whole(count >= kVectors * L::kCount),
          mask(whole ? L::kCount - 1 : count - (kVectors - 1) * L::kCount) {}
    [[gnu::always_inline]] void load(const float* p, F (&v)[kVectors]) const {
#pragma GCC unroll 16
      for (int i = 0; i + 1 < kVectors; ++i) v[i] = L::load(p + i * L::kCount);
      const float* last = p + (kVectors - 1) * L::kCount;
      v[kVectors - 1] = whole ? L::load(last) : mask.load(last);
    }
    [[gnu::always_inline]] void store(float* p, const F (&v)[kVectors]) const {
#pragma GCC unroll 16
      for (int i = 0; i + 1 < kVectors; ++i) L::store(p + i * L::kCount, v[i]);
      float* last = p + (kVectors - 1) * L::kCount;
      if (whole)
        L::store(last, v[kVectors - 1]);
      else
        mask.store(last, v[kVectors - 1]);
    }
  };

  static F activated(F z, Activation activation) {
    switch (activation) {
      case Activation::relu:
        return L::choose(z <= 0.0f, F{}, z);
      case Activation::sigmoid:
        return L::sigmoid(z);
      case Activation::tanh:
        return L::tanh(z);
      case Activation::linear:
        break;
    }
    return z;
  }

  // ---- forward: lanes are filters, a block is kPixels pixels by kVectors vectors of filters

  static constexpr int kForwardVectors = kWide ? 4 : 2;

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
      pixels[p] = in.x + pixel / s.out_width * s.step_y + pixel % s.out_width * s.step_x;
#pragma GCC unroll 16
      for (int v = 0; v < kVectors; ++v) sums[p][v] = start[v];
    }
    const float* kernel = in.kernel;
    for (int64_t ky = 0; ky < s.kernel_height; ++ky)
      for (int64_t r = 0; r < s.run; ++r, kernel += s.filters) {
        F k[kVectors];
        part.load(kernel, k);
#pragma GCC unroll 16
        for (int p = 0; p < kPixels; ++p) {
          const F value = L::all(pixels[p][ky * s.row + r]);
#pragma GCC unroll 16
          for (int v = 0; v < kVectors; ++v) sums[p][v] += value * k[v];
        }
      }
#pragma GCC unroll 16
    for (int p = 0; p < kPixels; ++p) {
#pragma GCC unroll 16
      for (int v = 0; v < kVectors; ++v) sums[p][v] = activated(sums[p][v], in.activation);
      part.store(in.y + (first_pixel + p) * s.filters, sums[p]);
    }
  }

  /// The last block is moved back so that it ends with the last pixel: some pixels are computed twice.
  template <int kVectors>
  static void forward_pixels(const Shape& s, const Forward& in) {
    constexpr int kPixels = kWide ? (kVectors == 4 ? 6 : 8) : (kVectors == 2 ? 5 : 8);
    const int64_t pixels = s.out_height * s.out_width;
    if (pixels < kPixels) {
      for (int64_t p = 0; p < pixels; ++p) forward_block<kVectors, 1>(s, in, p);
      return;
    }
    for (int64_t p = 0; p < pixels; p += kPixels)
      forward_block<kVectors, kPixels>(s, in, p + kPixels <= pixels ? p : pixels - kPixels);
  }

  static void forward(const Shape& s, const float* x, const float* kernel, const float* bias,
                      Activation activation, float* y) {
    constexpr int64_t kBlock = kForwardVectors * L::kCount;
    for (int64_t o = 0; o < s.filters; o += kBlock) {
      const int64_t left = s.filters - o;
      const Forward in{x, kernel + o, bias ? bias + o : nullptr, y + o, activation, left};
      with_number<kForwardVectors>((left + L::kCount - 1) / L::kCount,
                                   [&]<int kVectors>() { forward_pixels<kVectors>(s, in); });
    }
  }

  // ---- gradients: lanes are the taps of a run, a block is kVectors vectors by several pixels or filters

  static constexpr int kRunVectors = kWide ? 7 : 3;
  template <int kVectors>
  static constexpr int kOthers = kWide ? (kVectors > 3 ? 4 : 8) : 4;

  /// Calls f.template operator()<kVectors>(first float, floats left) for blocks of the run.
  template <class Body>
  [[gnu::always_inline]] static void for_run_blocks(const Shape& s, Body&& f) {
    constexpr int64_t kBlock = kRunVectors * L::kCount;
    for (int64_t r = 0; r < s.run; r += kBlock) {
      const int64_t left = s.run - r;
      with_number<kRunVectors>((left + L::kCount - 1) / L::kCount,
                               [&]<int kVectors>() { f.template operator()<kVectors>(r, left); });
    }
  }

  template <int kVectors, int kPixels>
  static void backward_input_block(const Shape& s, const float* dz, const float* packed, float* dx,
                                   int64_t left) {
    F sums[kPixels][kVectors] = {};
    for (int64_t o = 0; o < s.filters; ++o) {
      F k[kVectors];
#pragma GCC unroll 16
      for (int v = 0; v < kVectors; ++v) k[v] = L::load(packed + o * s.packed_run + v * L::kCount);
#pragma GCC unroll 16
      for (int p = 0; p < kPixels; ++p) {
        const F value = L::all(dz[p * s.filters + o]);
#pragma GCC unroll 16
        for (int v = 0; v < kVectors; ++v) sums[p][v] += value * k[v];
      }
    }
    const Part<kVectors> part(left);
#pragma GCC unroll 16
    for (int p = 0; p < kPixels; ++p) {
      F old[kVectors];
      part.load(dx + p * s.step_x, old);
#pragma GCC unroll 16
      for (int v = 0; v < kVectors; ++v) old[v] += sums[p][v];
      part.store(dx + p * s.step_x, old);
    }
  }

  static void backward_input(const Shape& s, const float* dz, const float* packed, float* dx) {
    for (int64_t ky = 0; ky < s.kernel_height; ++ky)
      for_run_blocks(s, [&]<int kVectors>(int64_t r, int64_t left) {
        constexpr int kPixels = kOthers<kVectors>;
        const float* k = packed + ky * s.filters * s.packed_run + r;
        for (int64_t oy = 0; oy < s.out_height; ++oy) {
          const float* g = dz + oy * s.out_width * s.filters;
          float* to = dx + oy * s.step_y + ky * s.row + r;
          int64_t ox = 0;
          for (; ox + kPixels <= s.out_width; ox += kPixels)
            backward_input_block<kVectors, kPixels>(s, g + ox * s.filters, k, to + ox * s.step_x, left);
          for (; ox < s.out_width; ++ox)
            backward_input_block<kVectors, 1>(s, g + ox * s.filters, k, to + ox * s.step_x, left);
        }
      });
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
        part.load(x + oy * s.step_y + ox * s.step_x, taps);
#pragma GCC unroll 16
        for (int o = 0; o < kFilters; ++o) {
          const F value = L::all(dz[o]);
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
      for_run_blocks(s, [&]<int kVectors>(int64_t r, int64_t left) {
        constexpr int kFilters = kOthers<kVectors>;
        float* out = sums + ky * s.filters * s.packed_run + r;
        const float* from = x + ky * s.row + r;
        int64_t o = 0;
        for (; o + kFilters <= s.filters; o += kFilters)
          backward_kernel_block<kVectors, kFilters>(s, from, dz + o, out + o * s.packed_run, left);
        for (; o < s.filters; ++o)
          backward_kernel_block<kVectors, 1>(s, from, dz + o, out + o * s.packed_run, left);
      });
  }
};

template <int kBytes>
constexpr DirectConvolutionLoops make_direct_convolution_loops() {
  using D = DirectConvolution<kBytes>;
  return {D::forward, D::backward_input, D::backward_kernel};
}

}  // namespace nyala::vec
