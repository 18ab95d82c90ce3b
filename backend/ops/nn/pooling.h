#pragma once

#include <nyala/backend/ops/base/window.h>

namespace nyala::ops {

struct Pooling2DOptions {
  std::array<int, 2> pool_size{2, 2};
  std::array<int, 2> strides{0, 0};  // 0: the pool size
  Padding2D padding{};               // "valid", "same" or {top, bottom, left, right}
};

/// Largest value of each window of x (batch, height, width, channels). Padding never wins; the first of equal
/// values gets the gradient. Throws ShapeError where the output would have no rows or columns.
Tensor max_pooling2d(const Tensor& x, const Pooling2DOptions& options = {});

/// Mean of each window of x; padding counts neither in the sum nor in the divisor.
Tensor average_pooling2d(const Tensor& x, const Pooling2DOptions& options = {});

struct Pooling2DDescriptor {
  std::array<int32_t, 2> pool{2, 2};
  std::array<int32_t, 2> strides{2, 2};
  Padding2D padding{};
  std::array<int64_t, 2> input_sizes{};  // of average_pooling2d_backward only: height and width of x
};

/// Where window (row, column) of the output begins in x, and all sizes.
struct Pooling2DGeometry {
  int64_t batch, height, width, channels, out_height, out_width;
  std::array<int64_t, 2> pool, strides;
  int64_t pad_top, pad_left;
};

namespace detail {

Pooling2DGeometry pooling2d_geometry(const Pooling2DDescriptor& descriptor, const Shape& x);

}  // namespace detail

/// Input (x).
extern const OpDef kMaxPooling2D, kAveragePooling2D;
/// Inputs (gradient of y, x) -> the gradient of x.
extern const OpDef kMaxPooling2DBackward;
/// Input (gradient of y) -> the gradient of x.
extern const OpDef kAveragePooling2DBackward;

}  // namespace nyala::ops
