#pragma once

#include <nyala/backend/kernels/cpu/base/vector_lanes.h>
#include <nyala/backend/kernels/cpu/image/pooling_loops.h>

/// The loops of PoolingLoops as templates of the vector's bytes. See vector_lanes.h for what may be used
/// here. Masked<kBytes> comes from the including file.
namespace nyala::vec {

template <int kBytes>
struct Masked;

template <int kBytes>
struct Pooling {
  using L = Lanes<kBytes>;
  using F = typename L::F;
  using I = typename L::I;
  using Shape = PoolingLoops::Shape;

  struct Full {
    static F load_parts(const float* p) { return L::load(p); }
    static void store(float* p, F v) { L::store(p, v); }
  };

  /// The pixels of one window that lie on the image; `first` is the offset of the first of them.
  struct Window {
    int64_t rows, columns, first, row_step, column_step;
  };

  static Window window_of(const Shape& s, int64_t oy, int64_t ox) {
    int64_t top = oy * s.stride_height - s.pad_top, left = ox * s.stride_width - s.pad_left;
    int64_t bottom = top + s.pool_height, right = left + s.pool_width;
    top = top < 0 ? 0 : top;
    left = left < 0 ? 0 : left;
    bottom = bottom > s.height ? s.height : bottom;
    right = right > s.width ? s.width : right;
    return {bottom - top, right - left, (top * s.width + left) * s.channels, s.width * s.channels,
            s.channels};
  }

  /// Calls body(offset) for every pixel of a window, row by row.
  template <class Body>
  [[gnu::always_inline]] static void for_each_pixel(const Window& w, Body&& body) {
    if (w.rows == 2 && w.columns == 2) {
      body(int64_t{0});
      body(w.column_step);
      body(w.row_step);
      body(w.row_step + w.column_step);
      return;
    }
    for (int64_t row = 0; row < w.rows; ++row)
      for (int64_t column = 0; column < w.columns; ++column) body(row * w.row_step + column * w.column_step);
  }

  /// Calls body(part, c) for the channels, a vector at a time.
  template <class Body>
  [[gnu::always_inline]] static void for_channels(int64_t channels, Body&& body) {
    int64_t c = 0;
    for (; c + L::kCount <= channels; c += L::kCount) body(Full{}, c);
    if (c < channels) body(Masked<kBytes>(channels - c), c);
  }

  static void max_row(const Shape& s, const float* x, int64_t oy, float* y) {
    for (int64_t ox = 0; ox < s.out_width; ++ox) {
      const Window w = window_of(s, oy, ox);
      for_channels(s.channels, [&](auto part, int64_t c) {
        const float* at = x + w.first + c;
        F best = part.load_parts(at);
        for_each_pixel(w, [&](int64_t offset) {
          const F v = part.load_parts(at + offset);
          best = L::choose((v > best) | (best != best), v, best);
        });
        part.store(y + ox * s.channels + c, best);
      });
    }
  }

  static void average_row(const Shape& s, const float* x, int64_t oy, float* y) {
    for (int64_t ox = 0; ox < s.out_width; ++ox) {
      const Window w = window_of(s, oy, ox);
      const float share = 1.0f / static_cast<float>(w.rows * w.columns);
      for_channels(s.channels, [&](auto part, int64_t c) {
        F sum = {};
        for_each_pixel(w, [&](int64_t offset) { sum += part.load_parts(x + w.first + c + offset); });
        part.store(y + ox * s.channels + c, sum * share);
      });
    }
  }

  static void clear(const Shape& s, float* dx) {
    const int64_t count = s.height * s.width * s.channels;
    for (int64_t i = 0; i < count; ++i) dx[i] = 0.0f;
  }

  template <bool kAdd>
  static void max_windows(const Shape& s, const float* dy, const float* x, float* dx) {
    for (int64_t oy = 0; oy < s.out_height; ++oy)
      for (int64_t ox = 0; ox < s.out_width; ++ox) {
        const Window w = window_of(s, oy, ox);
        for_channels(s.channels, [&](auto part, int64_t c) {
          const float* at = x + w.first + c;
          float* to = dx + w.first + c;
          F best = part.load_parts(at);
          I winner = {};
          int32_t number = 0;
          for_each_pixel(w, [&](int64_t offset) {
            const F v = part.load_parts(at + offset);
            const I larger = (v > best) | ((best != best) & (v == v));
            best = larger ? v : best;
            winner = larger ? I{} + number : winner;
            ++number;
          });
          const F g = part.load_parts(dy + (oy * s.out_width + ox) * s.channels + c);
          number = 0;
          for_each_pixel(w, [&](int64_t offset) {
            F share = L::choose(winner == number, g, F{});
            if constexpr (kAdd) share += part.load_parts(to + offset);
            part.store(to + offset, share);
            ++number;
          });
        });
      }
  }

  static void max_backward(const Shape& s, const float* dy, const float* x, float* dx) {
    if (!s.covered()) clear(s, dx);
    if (s.apart())
      max_windows<false>(s, dy, x, dx);
    else
      max_windows<true>(s, dy, x, dx);
  }

  template <bool kAdd>
  static void average_windows(const Shape& s, const float* dy, float* dx) {
    for (int64_t oy = 0; oy < s.out_height; ++oy)
      for (int64_t ox = 0; ox < s.out_width; ++ox) {
        const Window w = window_of(s, oy, ox);
        const float share = 1.0f / static_cast<float>(w.rows * w.columns);
        for_channels(s.channels, [&](auto part, int64_t c) {
          float* to = dx + w.first + c;
          const F g = part.load_parts(dy + (oy * s.out_width + ox) * s.channels + c) * share;
          for_each_pixel(w, [&](int64_t offset) {
            if constexpr (kAdd)
              part.store(to + offset, g + part.load_parts(to + offset));
            else
              part.store(to + offset, g);
          });
        });
      }
  }

  static void average_backward(const Shape& s, const float* dy, float* dx) {
    if (!s.covered()) clear(s, dx);
    if (s.apart())
      average_windows<false>(s, dy, dx);
    else
      average_windows<true>(s, dy, dx);
  }
};

template <int kBytes>
constexpr PoolingLoops make_pooling_loops() {
  using P = Pooling<kBytes>;
  return {P::max_row, P::average_row, P::max_backward, P::average_backward};
}

}  // namespace nyala::vec
