#pragma once

#include <nyala/backend/kernels/cpu/base/vector_lanes.h>
#include <nyala/backend/kernels/cpu/convolution/depthwise_loops.h>

/// The loops of DepthwiseLoops as templates of the vector's bytes; lanes are channels. See vector_lanes.h for
/// what may be used here. Masked<kBytes> comes from the including file.
namespace nyala::vec {

template <int kBytes>
struct Masked;

template <int kBytes>
struct Depthwise {
  using L = Lanes<kBytes>;
  using F = typename L::F;
  using Axis = DepthwiseLoops::Axis;
  using Shape = DepthwiseLoops::Shape;
  static constexpr int kPixels = 4;  // neighbours that share what is loaded of the kernel

  struct Full {
    static F load(const float* p) { return L::load(p); }
    static void store(float* p, F v) { L::store(p, v); }
  };

  /// Calls body(part, c) for the channels, a vector at a time.
  template <class Body>
  [[gnu::always_inline]] static void for_channels(int64_t channels, Body&& body) {
    int64_t c = 0;
    for (; c + L::kCount <= channels; c += L::kCount) body(Full{}, c);
    if (c < channels) body(Masked<kBytes>(channels - c), c);
  }

  /// [first, last), perhaps empty.
  struct Range {
    int64_t first, last;
    bool has(int64_t i) const { return i >= first && i < last; }
  };

  static int64_t ceiling(int64_t a, int64_t b) { return a <= 0 ? 0 : (a + b - 1) / b; }
  static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
  static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

  /// The taps of window `o` that lie on the image.
  static Range taps_of(const Axis& a, int64_t o) {
    const int64_t start = o * a.stride - a.pad;
    return {ceiling(-start, a.dilation), smaller(a.kernel, ceiling(a.size - start, a.dilation))};
  }
  /// The windows of which tap `k` lies on the image.
  static Range windows_of(const Axis& a, int64_t k) {
    const int64_t at = k * a.dilation - a.pad;
    return {ceiling(-at, a.stride), smaller(a.out_size, ceiling(a.size - at, a.stride))};
  }
  /// Calls body.operator()<n>(i) for blocks of n = kPixels or 1 that make up [0, count); only indices from
  /// `inner` go into blocks of kPixels. The last block is moved back: some pixels are computed twice.
  template <class Body>
  [[gnu::always_inline]] static void for_blocks(int64_t count, Range inner, Body&& body) {
    int64_t i = 0;
    while (i < count) {
      if (inner.has(i) && inner.last - inner.first >= kPixels) {
        for (; i + kPixels <= inner.last; i += kPixels) body.template operator()<kPixels>(i);
        if (i < inner.last) body.template operator()<kPixels>(inner.last - kPixels);
        i = inner.last;
      } else {
        body.template operator()<1>(i++);
      }
    }
  }

  // ---- gradient of x: gathered, pixel by pixel. Pixels one stride apart have the same taps.

  /// Taps that reach pixels first, first + stride, ...: tap kernel[i] of window base[i] + j reaches pixel
  /// first + j * stride.
  struct Reach {
    int64_t count = 0;
    int64_t kernel[DepthwiseLoops::kMaxKernel], base[DepthwiseLoops::kMaxKernel];
    Range whole;  // of j: all taps are of windows that exist

    Reach(const Axis& a, int64_t first) : whole{0, a.size} {
      for (int64_t k = 0; k < a.kernel; ++k) {
        const int64_t from = first + a.pad - k * a.dilation;
        if (from % a.stride != 0) continue;
        kernel[count] = k;
        base[count] = from / a.stride;
        whole.first = larger(whole.first, -base[count]);
        whole.last = smaller(whole.last, a.out_size - base[count]);
        ++count;
      }
    }
  };

  static void backward_input_row(const Shape& s, const float* dz, const float* kernel, int64_t iy,
                                 float* row) {
    for (int64_t first = 0; first < s.x.stride && first < s.x.size; ++first)
      backward_input_pixels(s, dz, kernel, iy, first, row);
  }

  static void backward_input_pixels(const Shape& s, const float* dz, const float* kernel, int64_t iy,
                                    int64_t first, float* row) {
    const Reach reach(s.x, first);
    const int64_t channels = s.channels, count = (s.x.size - first + s.x.stride - 1) / s.x.stride;
    Range whole = reach.whole;
    whole.last = smaller(whole.last, count);
    for_blocks(count, whole, [&]<int kCount>(int64_t j) {
      for_channels(channels, [&](auto part, int64_t c) {
        F sums[kCount];
        for (int p = 0; p < kCount; ++p) sums[p] = F{};
        for (int64_t ky = 0; ky < s.y.kernel; ++ky) {
          const int64_t from = iy + s.y.pad - ky * s.y.dilation;
          if (from < 0 || from % s.y.stride != 0 || from / s.y.stride >= s.y.out_size) continue;
          const float* in = dz + from / s.y.stride * s.x.out_size * channels + c;
          for (int64_t i = 0; i < reach.count; ++i) {
            const int64_t ox = reach.base[i] + j;
            if (kCount == 1 && (ox < 0 || ox >= s.x.out_size)) continue;
            const F tap = part.load(kernel + (ky * s.x.kernel + reach.kernel[i]) * channels + c);
#pragma GCC unroll 8
            for (int p = 0; p < kCount; ++p) sums[p] += part.load(in + (ox + p) * channels) * tap;
          }
        }
#pragma GCC unroll 8
        for (int p = 0; p < kCount; ++p)
          part.store(row + (first + (j + p) * s.x.stride) * channels + c, sums[p]);
      });
    });
  }

  // ---- gradient of the kernel

  /// Of kCount taps side by side in one kernel row.
  template <int kCount>
  static void kernel_taps(const Shape& s, const float* in, const float* row, int64_t k, float* sums) {
    Range windows[kCount], all{0, s.x.out_size};
    for (int i = 0; i < kCount; ++i) {
      windows[i] = windows_of(s.x, k + i);
      all = {larger(all.first, windows[i].first), smaller(all.last, windows[i].last)};
    }
    if (all.last < all.first) all.last = all.first;
    const int64_t channels = s.channels, step = s.x.stride * channels, tap = s.x.dilation * channels;
    const float* left = in + (k * s.x.dilation - s.x.pad) * channels;
    for_channels(channels, [&](auto part, int64_t c) {
      F even[kCount], odd[kCount];
      for (int i = 0; i < kCount; ++i) even[i] = odd[i] = F{};
      int64_t o = all.first;
      for (; o + 2 <= all.last; o += 2) {
        const F g = part.load(row + o * channels + c), h = part.load(row + (o + 1) * channels + c);
        const float* at = left + o * step + c;
#pragma GCC unroll 8
        for (int i = 0; i < kCount; ++i) {
          even[i] += part.load(at + i * tap) * g;
          odd[i] += part.load(at + i * tap + step) * h;
        }
      }
      for (int i = 0; i < kCount; ++i) {
        const auto add = [&](int64_t window) {
          even[i] += part.load(left + window * step + i * tap + c) * part.load(row + window * channels + c);
        };
        if (o < all.last) add(o);
        for (int64_t w = windows[i].first; w < smaller(all.first, windows[i].last); ++w) add(w);
        for (int64_t w = larger(all.last, windows[i].first); w < windows[i].last; ++w) add(w);
        float* sum = sums + i * channels + c;
        part.store(sum, part.load(sum) + (even[i] + odd[i]));
      }
    });
  }

  static void backward_kernel_row(const Shape& s, const float* x, const float* row, int64_t oy, float* sums) {
    const Range ky = taps_of(s.y, oy);
    for (int64_t y = ky.first; y < ky.last; ++y) {
      const float* in = x + (oy * s.y.stride - s.y.pad + y * s.y.dilation) * s.x.size * s.channels;
      float* out = sums + y * s.x.kernel * s.channels;
      int64_t k = 0;
      for (; k + 3 <= s.x.kernel; k += 3) kernel_taps<3>(s, in, row, k, out + k * s.channels);
      if (k + 2 == s.x.kernel) kernel_taps<2>(s, in, row, k, out + k * s.channels);
      if (k + 1 == s.x.kernel) kernel_taps<1>(s, in, row, k, out + k * s.channels);
    }
  }
};

template <int kBytes>
constexpr DepthwiseLoops make_depthwise_loops() {
  using D = Depthwise<kBytes>;
  return {D::backward_input_row, D::backward_kernel_row};
}

}  // namespace nyala::vec
