#include <nyala/backend/kernels/cpu/base/masked_avx512.h>
#include <nyala/backend/kernels/cpu/convolution/single_channel_loops.h>

namespace nyala {

namespace {

using L = vec::Lanes<64>;
using F = L::F;
using Shape = SingleChannelLoops::Shape;
using Activation = SingleChannelLoops::Activation;

constexpr int kMaxVectors = SingleChannelLoops::kMaxPeriod / 16;

/// Which pixel each lane of each vector of a period belongs to.
template <int kVectors>
struct Pixels {
  __m512i of[kVectors];

  explicit Pixels(int64_t filters) {
    alignas(64) int32_t lanes[16];
    for (int v = 0; v < kVectors; ++v) {
      for (int lane = 0; lane < 16; ++lane) lanes[lane] = static_cast<int32_t>((v * 16 + lane) / filters);
      of[v] = _mm512_load_si512(lanes);
    }
  }
  [[gnu::always_inline]] F spread(int v, __m512 pixels) const {
    return (F)_mm512_maskz_permutexvar_ps(0xffff, of[v], pixels);
  }
};

__mmask16 first_lanes(int64_t count) { return static_cast<__mmask16>((1u << count) - 1u); }

int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

F activated(F z, Activation activation) {
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

/// Writes the first `count` floats of kVectors vectors.
template <int kVectors>
void store_activated(float* y, F (&values)[kVectors], Activation activation, int64_t count) {
#pragma GCC unroll 8
  for (int v = 0; v < kVectors; ++v) {
    const int64_t left = count - v * 16;
    if (left <= 0) return;
    const F value = activated(values[v], activation);
    if (left >= 16)
      L::store(y + v * 16, value);
    else
      vec::Masked<64>(left).store(y + v * 16, value);
  }
}

struct Forward {
  const float *x, *kernel, *bias;
  float* y;
  Activation activation;
};

/// kRows rows of y, for a kernel of kHeight rows, from row `oy` on, one period of pixels from `ox` on. A row
/// of x serves several rows of y.
template <int kVectors, int kHeight, int kRows>
void forward_block(const Shape& s, const Forward& in, const Pixels<kVectors>& spread, int64_t oy,
                   int64_t ox) {
  const int64_t pixels = smaller(s.period / s.filters, s.out_width - ox);
  const __mmask16 mask = first_lanes(pixels);
  F sums[kRows][kVectors];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) sums[r][v] = L::load(in.bias + v * 16);
#pragma GCC unroll 8
  for (int i = 0; i < kRows + kHeight - 1; ++i) {
    const float* row = in.x + (oy + i) * s.row + ox;
    for (int64_t kx = 0; kx < s.kernel_width; ++kx) {
      const __m512 values = _mm512_maskz_loadu_ps(mask, row + kx);
      F lanes[kVectors];
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) lanes[v] = spread.spread(v, values);
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
        const int ky = i - r;
        if (ky < 0 || ky >= kHeight) continue;
        const float* k = in.kernel + (ky * s.kernel_width + kx) * s.period;
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v) sums[r][v] += lanes[v] * L::load(k + v * 16);
      }
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r)
    store_activated(in.y + ((oy + r) * s.out_width + ox) * s.filters, sums[r], in.activation,
                    pixels * s.filters);
}

template <int kVectors, int kHeight>
void forward_rows(const Shape& s, const Forward& in) {
  constexpr int kRows = 4;
  const Pixels<kVectors> spread(s.filters);
  const int64_t step = s.period / s.filters;
  int64_t oy = 0;
  for (; oy + kRows <= s.out_height; oy += kRows)
    for (int64_t ox = 0; ox < s.out_width; ox += step)
      forward_block<kVectors, kHeight, kRows>(s, in, spread, oy, ox);
  for (; oy < s.out_height; ++oy)
    for (int64_t ox = 0; ox < s.out_width; ox += step)
      forward_block<kVectors, kHeight, 1>(s, in, spread, oy, ox);
}

void forward(const Shape& s, const float* x, const float* kernel, const float* bias, Activation activation,
             float* y) {
  vec::with_number<kMaxVectors>(s.period / 16, [&]<int kVectors>() {
    vec::with_number<SingleChannelLoops::kMaxHeight>(s.kernel_height, [&]<int kHeight>() {
      forward_rows<kVectors, kHeight>(s, Forward{x, kernel, bias, y, activation});
    });
  });
}

}  // namespace

const SingleChannelLoops& single_channel_loops_avx512() {
  static constexpr SingleChannelLoops loops{forward};
  return loops;
}

}  // namespace nyala
