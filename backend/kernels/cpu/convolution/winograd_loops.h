#pragma once

#include <cstdint>

namespace nyala {

/// Winograd's F(2x2, 3x3) or F(4x4, 3x3) on NHWC float32 for one kind of CPU; strides and dilation are 1,
/// there is one group, channels and filters are multiples of 16. A tile is 2x2 (4x4) results, which 4x4 (6x6)
/// values of the image make; tiles are counted over all images. What is transformed has as many points as
/// these, 16 (36), `plane` floats from one to the next.
struct WinogradLoops {
  struct Shape {
    int64_t height, width, channels;         // x
    int64_t out_height, out_width, filters;  // y
    int64_t pad_top, pad_left;
    int64_t tile;  // results on a side of one: 2 or 4

    int64_t points() const { return (tile + 2) * (tile + 2); }
    int64_t tiles_across() const { return (out_width + tile - 1) / tile; }
    int64_t tiles_of_image() const { return (out_height + tile - 1) / tile * tiles_across(); }
  };
  /// Tiles [first, first + count), and their points in memory. Loops that are given begin and end do those of
  /// them alone.
  struct Tiles {
    int64_t first, count;
    float* points;
    int64_t plane;
  };
  enum class Activation : uint8_t { linear, relu, relu6 };
  struct Result {
    const float* bias;  // null: none
    Activation activation;
    bool adds;  // to what y holds
    float* y;
  };

  /// Channels that lie side by side in transform_columns().
  static constexpr int64_t kColumn = 16;
  /// Filters that lie side by side in transformed kernels and gradients; the last panel may be narrower.
  int64_t panel;

  /// Writes (points, panels, channels, panel), for channels [first, end), which are multiples of 16.
  /// `turned`: `kernel` is that of the convolution whose gradient by x this one is: (3, 3, filters,
  /// channels), mirrored.
  void (*transform_kernel)(const Shape& shape, const float* kernel, bool turned, int64_t first, int64_t end,
                           float* points);
  /// Of x: (points, tiles, channels). `zeros`: as many floats as there are channels.
  void (*transform_rows)(const Shape& shape, const float* x, const float* zeros, const Tiles& tiles);
  /// The same as (points, channels / 16, tiles, 16).
  void (*transform_columns)(const Shape& shape, const float* x, const float* zeros, const Tiles& tiles,
                            int64_t begin, int64_t end);
  /// (points, tiles, filters) of `rows` times the kernel of transform_kernel().
  void (*multiply)(const Shape& shape, const Tiles& rows, const float* kernel, const Tiles& products);
  /// y = activation(products + bias) of these tiles.
  void (*transform_result)(const Shape& shape, const Tiles& products, const Result& result);
  /// Of the gradient of y: (points, panels, tiles, panel). `zeros`: as many floats as there are filters.
  void (*transform_gradient)(const Shape& shape, const float* dz, const float* zeros, const Tiles& tiles,
                             int64_t begin, int64_t end);
  /// sums (channels, filters) of one point += columns of 16 channels, from `channel`, times gradients.
  void (*add_products)(const Shape& shape, const float* columns, const float* gradients, int64_t tiles,
                       int64_t channel, float* sums);
  /// The gradient of the kernel from sums (points, channels, filters), for channels [first, end).
  void (*transform_sums)(const Shape& shape, const float* sums, int64_t first, int64_t end, float* gradient);
};

/// The loops of F(2x2, 3x3) for vectors of 32 (AVX2 with FMA) and 64 bytes (AVX-512 F, BW, DQ, VL). Call only
/// what cpu_level() offers.
const WinogradLoops& winograd_loops_avx2();
const WinogradLoops& winograd_loops_avx512();
/// Those of F(4x4, 3x3).
const WinogradLoops& winograd4_loops_avx2();
const WinogradLoops& winograd4_loops_avx512();

}  // namespace nyala
