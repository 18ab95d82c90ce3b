#pragma once

#include <nyala/backend/kernels/cpu/base/vector_lanes.h>
#include <nyala/backend/kernels/cpu/convolution/narrow_depthwise_loops.h>

/// The loops of NarrowDepthwiseLoops as templates of the vector's bytes, the columns of the kernel and their
/// stride; lanes are channels. A block is several pixels side by side: every column of the image that they
/// share is loaded once. See vector_lanes.h for what may be used here. Masked<kBytes> comes from the
/// including file.
namespace nyala::vec {

template <int kBytes>
struct Masked;

/// Calls f.template operator()<n>() with n from 1 to kLargest.
template <int kLargest, class F>
[[gnu::always_inline]] inline void with_count(int64_t n, F&& f) {
  if constexpr (kLargest > 1) {
    if (n < kLargest) return with_count<kLargest - 1>(n, f);
  }
  f.template operator()<kLargest>();
}

template <int kBytes, int kKernel, int kStride>
struct NarrowDepthwise {
  using L = Lanes<kBytes>;
  using F = typename L::F;
  using Shape = NarrowDepthwiseLoops::Shape;
  using Activation = NarrowDepthwiseLoops::Activation;

  static constexpr int kPixels = 8;                             // of a block of the result
  static constexpr int kGradientPixels = kBytes == 64 ? 8 : 4;  // the same, where sums are the kernel's
  static constexpr int kSteps = 8 / kStride;                    // of a block of the image, in strides
  static constexpr int kEdge = kKernel / 2;                     // columns beside the image, at most
  static constexpr int kReach = (kKernel - 1) / kStride;        // windows before its own that reach a pixel

  static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
  static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

  /// [first, last).
  struct Range {
    int64_t first, last;
  };

  struct Full {
    static F load(const float* p) { return L::load(p); }
    static void store(float* p, F v) { L::store(p, v); }
  };

  /// Which of the first and last columns of a block lie on the image; loads give 0 for the others.
  struct Columns {
    Masked<kBytes> first[kEdge], last[kEdge];

    /// Of `count` columns from `begin` on, on an image `width` wide; `lanes` channels are read of each.
    Columns(int64_t begin, int64_t count, int64_t width, int64_t lanes)
        : Columns(begin, count, width, lanes, Pick<kEdge>{}) {}

   private:
    template <int kCount>
    struct Pick {};
    static int64_t lanes_at(int64_t column, int64_t width, int64_t lanes) {
      return column >= 0 && column < width ? lanes : 0;
    }
    Columns(int64_t begin, int64_t count, int64_t width, int64_t lanes, Pick<1>)
        : first{Masked<kBytes>(lanes_at(begin, width, lanes))},
          last{Masked<kBytes>(lanes_at(begin + count - 1, width, lanes))} {}
    Columns(int64_t begin, int64_t count, int64_t width, int64_t lanes, Pick<2>)
        : first{Masked<kBytes>(lanes_at(begin, width, lanes)),
                Masked<kBytes>(lanes_at(begin + 1, width, lanes))},
          last{Masked<kBytes>(lanes_at(begin + count - 2, width, lanes)),
               Masked<kBytes>(lanes_at(begin + count - 1, width, lanes))} {}
  };

  /// Keeps the compiler from loading v again at every use.
  [[gnu::always_inline]] static F pinned(F v) {
    asm("" : "+v"(v));
    return v;
  }

  /// Column `j` of `kCount`.
  template <int kCount, class Part>
  [[gnu::always_inline]] static F load_column(const Columns& columns, Part part, const float* p, int j) {
    if (j < kEdge) return pinned(columns.first[j].load(p));
    if (j >= kCount - kEdge) return pinned(columns.last[j - (kCount - kEdge)].load(p));
    return pinned(part.load(p));
  }

  /// Calls body(part, columns, c) for the channels, a vector at a time.
  template <class Body>
  [[gnu::always_inline]] static void for_channels(int64_t channels, int64_t begin, int64_t count,
                                                  int64_t width, Body&& body) {
    int64_t c = 0;
    const Columns whole(begin, count, width, L::kCount);
    for (; c + L::kCount <= channels; c += L::kCount) body(Full{}, whole, c);
    if (c < channels) body(Masked<kBytes>(channels - c), Columns(begin, count, width, channels - c), c);
  }

  /// Cuts [0, total) into blocks of nearly equal size, at most kLargest; calls body<size>(first).
  template <int kLargest, class Body>
  [[gnu::always_inline]] static void for_blocks(int64_t total, Body&& body) {
    const int64_t blocks = (total + kLargest - 1) / kLargest;
    for (int64_t block = 0; block < blocks; ++block) {
      const int64_t first = block * total / blocks;
      with_count<kLargest>((block + 1) * total / blocks - first,
                           [&]<int kSize>() { body.template operator()<kSize>(first); });
    }
  }

  /// The rows of the kernel that lie on the image for row `oy` of the result.
  struct KernelRows {
    int64_t first, last;
    KernelRows(const Shape& s, int64_t oy)
        : first(larger(0, s.pad_top - oy * s.stride_y)),
          last(smaller(s.kernel_height, s.height + s.pad_top - oy * s.stride_y)) {}
  };

  static F activated(F z, Activation activation) {
    if (activation == Activation::linear) return z;
    z = L::choose(z <= 0.0f, F{}, z);
    return activation == Activation::relu ? z : L::choose(z >= 6.0f, L::all(6.0f), z);
  }

  struct Forward {
    const float *kernel, *bias;
    Activation activation;
  };

  /// kCount pixels from `ox` on.
  template <int kCount>
  static void forward_pixels(const Shape& s, const float* x, const Forward& f, int64_t oy, int64_t ox,
                             float* row) {
    constexpr int kColumns = (kCount - 1) * kStride + kKernel;
    const KernelRows rows(s, oy);
    const int64_t channels = s.channels, begin = ox * kStride - s.pad_left, line = s.width * channels;
    const float* base = x + (oy * s.stride_y - s.pad_top) * line + begin * channels;
    for_channels(channels, begin, kColumns, s.width, [&](auto part, const Columns& columns, int64_t c) {
      F sums[kCount];
      const F start = f.bias ? part.load(f.bias + c) : F{};
#pragma GCC unroll 8
      for (int p = 0; p < kCount; ++p) sums[p] = start;
      for (int64_t ky = rows.first; ky < rows.last; ++ky) {
        const float* in = base + ky * line + c;
        F taps[kKernel];
#pragma GCC unroll 8
        for (int k = 0; k < kKernel; ++k)
          taps[k] = pinned(part.load(f.kernel + (ky * kKernel + k) * channels + c));
#pragma GCC unroll 32
        for (int j = 0; j < kColumns; ++j) {
          const F value = load_column<kColumns>(columns, part, in + j * channels, j);
#pragma GCC unroll 8
          for (int p = 0; p < kCount; ++p)
            if (j - p * kStride >= 0 && j - p * kStride < kKernel) sums[p] += value * taps[j - p * kStride];
        }
      }
#pragma GCC unroll 8
      for (int p = 0; p < kCount; ++p)
        part.store(row + (ox + p) * channels + c, activated(sums[p], f.activation));
    });
  }

  static void forward_row(const Shape& s, const float* x, const Forward& f, int64_t oy, float* row) {
    for_blocks<kPixels>(s.out_width,
                        [&]<int kCount>(int64_t ox) { forward_pixels<kCount>(s, x, f, oy, ox, row); });
  }

  /// The pixels of kCount strides from `step` on: pixel (step + p) * kStride + r - pad_left.
  template <int kCount>
  static void backward_input_pixels(const Shape& s, const float* dz, const float* kernel, int64_t iy,
                                    int64_t step, float* row) {
    constexpr int kColumns = kCount + kReach;
    const int64_t channels = s.channels, begin = step - kReach, line = s.out_width * channels;
    const int64_t first = step * kStride - s.pad_left;
    for_channels(channels, begin, kColumns, s.out_width, [&](auto part, const Columns& columns, int64_t c) {
      F sums[kCount * kStride] = {};
      for (int64_t ky = 0; ky < s.kernel_height; ++ky) {
        const int64_t from = iy + s.pad_top - ky;
        if (from < 0 || from % s.stride_y != 0 || from / s.stride_y >= s.out_height) continue;
        const float* in = dz + from / s.stride_y * line + begin * channels + c;
        F taps[kKernel];
#pragma GCC unroll 8
        for (int k = 0; k < kKernel; ++k)
          taps[k] = pinned(part.load(kernel + (ky * kKernel + k) * channels + c));
#pragma GCC unroll 32
        for (int j = 0; j < kColumns; ++j) {
          const F value = load_column<kColumns>(columns, part, in + j * channels, j);
#pragma GCC unroll 16
          for (int p = 0; p < kCount * kStride; ++p) {
            const int k = p + kStride * (kReach - j);
            if (k >= 0 && k < kKernel) sums[p] += value * taps[k];
          }
        }
      }
#pragma GCC unroll 16
      for (int p = 0; p < kCount * kStride; ++p)
        if (kStride == 1 || (first + p >= 0 && first + p < s.width))
          part.store(row + (first + p) * channels + c, sums[p]);
    });
  }

  static void backward_input_row(const Shape& s, const float* dz, const float* kernel, int64_t iy,
                                 float* row) {
    const int64_t first = s.pad_left / kStride, end = (s.width - 1 + s.pad_left) / kStride + 1;
    for_blocks<kSteps>(end - first, [&]<int kCount>(int64_t step) {
      backward_input_pixels<kCount>(s, dz, kernel, iy, first + step, row);
    });
  }

  /// What kCount pixels of the result from `ox` on give.
  template <int kCount>
  static void backward_kernel_pixels(const Shape& s, const float* x, const float* row, int64_t oy, int64_t ox,
                                     float* sums) {
    constexpr int kColumns = (kCount - 1) * kStride + kKernel;
    const KernelRows rows(s, oy);
    const int64_t channels = s.channels, begin = ox * kStride - s.pad_left, line = s.width * channels;
    const float* base = x + (oy * s.stride_y - s.pad_top) * line + begin * channels;
    for_channels(channels, begin, kColumns, s.width, [&](auto part, const Columns& columns, int64_t c) {
      F gradients[kCount];
#pragma GCC unroll 8
      for (int p = 0; p < kCount; ++p) gradients[p] = pinned(part.load(row + (ox + p) * channels + c));
      for (int64_t ky = rows.first; ky < rows.last; ++ky) {
        const float* in = base + ky * line + c;
        float* out = sums + ky * kKernel * channels + c;
        F taps[kKernel];
#pragma GCC unroll 8
        for (int k = 0; k < kKernel; ++k) taps[k] = part.load(out + k * channels);
#pragma GCC unroll 32
        for (int j = 0; j < kColumns; ++j) {
          const F value = load_column<kColumns>(columns, part, in + j * channels, j);
#pragma GCC unroll 8
          for (int p = 0; p < kCount; ++p)
            if (j - p * kStride >= 0 && j - p * kStride < kKernel)
              taps[j - p * kStride] += value * gradients[p];
        }
#pragma GCC unroll 8
        for (int k = 0; k < kKernel; ++k) part.store(out + k * channels, taps[k]);
      }
    });
  }

  /// What kCount pixels from `ox` on of rows [oy, end) give to a kernel of 3 by 3, which stays in registers.
  template <int kCount>
  static void square_kernel_pixels(const Shape& s, const float* x, const float* dz, Range rows, int64_t ox,
                                   float* sums) {
    constexpr int kColumns = (kCount - 1) * kStride + 3;
    const int64_t channels = s.channels, begin = ox * kStride - s.pad_left, line = s.width * channels;
    for_channels(channels, begin, kColumns, s.width, [&](auto part, const Columns& columns, int64_t c) {
      F taps[9];
#pragma GCC unroll 16
      for (int k = 0; k < 9; ++k) taps[k] = part.load(sums + k * channels + c);
      for (int64_t oy = rows.first; oy < rows.last; ++oy) {
        const float* row = dz + (oy * s.out_width + ox) * channels + c;
        F gradients[kCount];
#pragma GCC unroll 8
        for (int p = 0; p < kCount; ++p) gradients[p] = pinned(part.load(row + p * channels));
        const int64_t top = oy * s.stride_y - s.pad_top;
        const float* in = x + top * line + begin * channels + c;
#pragma GCC unroll 3
        for (int ky = 0; ky < 3; ++ky, in += line) {
          if (top + ky < 0 || top + ky >= s.height) continue;
#pragma GCC unroll 32
          for (int j = 0; j < kColumns; ++j) {
            const F value = load_column<kColumns>(columns, part, in + j * channels, j);
#pragma GCC unroll 8
            for (int p = 0; p < kCount; ++p)
              if (j - p * kStride >= 0 && j - p * kStride < 3)
                taps[ky * 3 + j - p * kStride] += value * gradients[p];
          }
        }
      }
#pragma GCC unroll 16
      for (int k = 0; k < 9; ++k) part.store(sums + k * channels + c, taps[k]);
    });
  }

  static void backward_kernel_rows(const Shape& s, const float* x, const float* dz, Range rows, float* sums) {
    for_blocks<kGradientPixels>(s.out_width, [&]<int kCount>(int64_t ox) {
      if constexpr (kKernel == 3) {
        if (s.kernel_height == 3) return square_kernel_pixels<kCount>(s, x, dz, rows, ox, sums);
      }
      for (int64_t oy = rows.first; oy < rows.last; ++oy)
        backward_kernel_pixels<kCount>(s, x, dz + oy * s.out_width * s.channels, oy, ox, sums);
    });
  }
};

template <int kBytes>
struct NarrowDepthwiseTable {
  using Shape = NarrowDepthwiseLoops::Shape;

  /// Calls f.template operator()<Loops>() for the columns and stride of the shape.
  template <class F>
  [[gnu::always_inline]] static void with_loops(const Shape& s, F&& f) {
    if (s.kernel_width == 3)
      s.stride_x == 1 ? f.template operator()<NarrowDepthwise<kBytes, 3, 1>>()
                      : f.template operator()<NarrowDepthwise<kBytes, 3, 2>>();
    else
      s.stride_x == 1 ? f.template operator()<NarrowDepthwise<kBytes, 5, 1>>()
                      : f.template operator()<NarrowDepthwise<kBytes, 5, 2>>();
  }

  static void forward_row(const Shape& s, const float* x, const float* kernel, const float* bias,
                          NarrowDepthwiseLoops::Activation activation, int64_t oy, float* row) {
    with_loops(s, [&]<class D>() { D::forward_row(s, x, {kernel, bias, activation}, oy, row); });
  }
  static void backward_input_row(const Shape& s, const float* dz, const float* kernel, int64_t iy,
                                 float* row) {
    with_loops(s, [&]<class D>() { D::backward_input_row(s, dz, kernel, iy, row); });
  }
  static void backward_kernel_rows(const Shape& s, const float* x, const float* dz, int64_t oy, int64_t end,
                                   float* sums) {
    with_loops(s, [&]<class D>() { D::backward_kernel_rows(s, x, dz, {oy, end}, sums); });
  }
};

template <int kBytes>
constexpr NarrowDepthwiseLoops make_narrow_depthwise_loops() {
  using T = NarrowDepthwiseTable<kBytes>;
  return {T::forward_row, T::backward_input_row, T::backward_kernel_rows};
}

}  // namespace nyala::vec
