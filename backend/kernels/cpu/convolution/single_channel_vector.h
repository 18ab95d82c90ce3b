#pragma once

#include <nyala/backend/kernels/cpu/base/vector_lanes.h>
#include <nyala/backend/kernels/cpu/convolution/single_channel_loops.h>

/// The loops of single_channel_loops.h for one size of vectors; a file that uses them includes masked_avx2.h
/// or masked_avx512.h before.
namespace nyala::vec {

template <int kBytes>
struct SingleChannel {
  using L = Lanes<kBytes>;
  using F = typename L::F;
  using I = typename L::I;
  using Shape = SingleChannelLoops::Shape;
  using Activation = SingleChannelLoops::Activation;

  static constexpr int64_t kLanes = L::kCount;
  /// Rows of y at a time: their sums stay in registers, of which AVX2 has 16, AVX-512 32.
  template <int kVectors>
  static constexpr int kRowsOf = kBytes == 64 || kVectors <= 3 ? 4 : 12 / kVectors;

  static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

  /// Which pixel each lane of each vector of a period belongs to.
  template <int kVectors>
  struct Pixels {
    Permutation<kBytes> of[kVectors];

    explicit Pixels(int64_t filters) {
      for (int v = 0; v < kVectors; ++v) {
        I lanes = {};
        for (int lane = 0; lane < kLanes; ++lane)
          lanes[lane] = static_cast<int32_t>((v * kLanes + lane) / filters);
        of[v].of = reinterpret_cast<decltype(of[v].of)>(lanes);
      }
    }
  };

  /// Writes the first `count` floats of kVectors vectors.
  template <int kVectors>
  static void store_activated(float* y, F (&values)[kVectors], Activation activation, int64_t count) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      const int64_t left = count - v * kLanes;
      if (left <= 0) return;
      const F value = L::activated(values[v], activation);
      if (left >= kLanes)
        L::store(y + v * kLanes, value);
      else
        Masked<kBytes>(left).store(y + v * kLanes, value);
    }
  }

  struct Forward {
    const float *x, *kernel, *bias;
    float* y;
    Activation activation;
  };

  /// kRows rows of y, for a kernel of kHeight rows, from row `oy` on, one period of pixels from `ox` on. A
  /// row of x serves several rows of y.
  template <int kVectors, int kHeight, int kRows>
  static void forward_block(const Shape& s, const Forward& in, const Pixels<kVectors>& pixel, int64_t oy,
                            int64_t ox) {
    const int64_t pixels = smaller(s.period / s.filters, s.out_width - ox);
    const Masked<kBytes> mask(pixels);
    F sums[kRows][kVectors];
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) sums[r][v] = L::load(in.bias + v * kLanes);
#pragma GCC unroll 8
    for (int i = 0; i < kRows + kHeight - 1; ++i) {
      const float* row = in.x + (oy + i) * s.row + ox;
      for (int64_t kx = 0; kx < s.kernel_width; ++kx) {
        const F values = mask.load(row + kx);
        F lanes[kVectors];
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v) lanes[v] = pixel.of[v](values);
#pragma GCC unroll 8
        for (int r = 0; r < kRows; ++r) {
          const int ky = i - r;
          if (ky < 0 || ky >= kHeight) continue;
          const float* k = in.kernel + (ky * s.kernel_width + kx) * s.period;
#pragma GCC unroll 8
          for (int v = 0; v < kVectors; ++v) sums[r][v] += lanes[v] * L::load(k + v * kLanes);
        }
      }
    }
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r)
      store_activated(in.y + ((oy + r) * s.out_width + ox) * s.filters, sums[r], in.activation,
                      pixels * s.filters);
  }

  template <int kVectors, int kHeight>
  static void forward_rows(const Shape& s, const Forward& in) {
    constexpr int kRows = kRowsOf<kVectors>;
    const Pixels<kVectors> pixel(s.filters);
    const int64_t step = s.period / s.filters;
    int64_t oy = 0;
    for (; oy + kRows <= s.out_height; oy += kRows)
      for (int64_t ox = 0; ox < s.out_width; ox += step)
        forward_block<kVectors, kHeight, kRows>(s, in, pixel, oy, ox);
    for (; oy < s.out_height; ++oy)
      for (int64_t ox = 0; ox < s.out_width; ox += step)
        forward_block<kVectors, kHeight, 1>(s, in, pixel, oy, ox);
  }

  static void forward(const Shape& s, const float* x, const float* kernel, const float* bias,
                      Activation activation, float* y) {
    with_number<SingleChannelLoops::kMaxVectors>(s.period / kLanes, [&]<int kVectors>() {
      with_number<SingleChannelLoops::kMaxHeight>(s.kernel_height, [&]<int kHeight>() {
        forward_rows<kVectors, kHeight>(s, Forward{x, kernel, bias, y, activation});
      });
    });
  }
};

template <int kBytes>
constexpr SingleChannelLoops make_single_channel_loops() {
  constexpr bool kFewRegisters = kBytes == 32;
  return {.lanes = SingleChannel<kBytes>::kLanes,
          .most_vectors = kFewRegisters ? 3 : SingleChannelLoops::kMaxVectors,
          .for_whole_vectors = !kFewRegisters,
          .forward = SingleChannel<kBytes>::forward};
}

}  // namespace nyala::vec
