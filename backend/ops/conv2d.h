#pragma once

#include <nyala/backend/ops/fused_activation.h>
#include <nyala/backend/ops/window.h>

namespace nyala::ops {

struct Conv2DOptions {
  std::array<int, 2> strides{1, 1};  // rows, columns
  Padding2D padding{};               // "valid", "same" or {top, bottom, left, right}
  std::array<int, 2> dilation{1, 1};
  int groups = 1;
  Activation activation = Activation::linear;
};

/// activation(correlation of x with kernel + bias): x (batch, height, width, in), kernel (rows, columns, in /
/// groups, out), bias (out) or undefined -> (batch, out height, out width, out). Sizes may be None while a
/// graph is drawn. Throws ShapeError where channels or groups do not fit or the output would have no rows or
/// columns.
Tensor conv2d(const Tensor& x, const Tensor& kernel, const Tensor& bias = {},
              const Conv2DOptions& options = {});

struct Conv2DDescriptor {
  std::array<int32_t, 2> strides{1, 1};
  std::array<int32_t, 2> dilation{1, 1};
  int32_t groups = 1;
  Padding2D padding{};
  Activation activation = Activation::linear;
};

/// For the gradients: also the sizes that their inputs do not tell.
struct Conv2DBackwardDescriptor {
  Conv2DDescriptor conv;
  std::array<int64_t, 2> sizes{};  // backward_input: height and width of x; backward_kernel: rows and columns
};

/// All sizes of one convolution, worked out from descriptor and shapes. Pads may be negative at the end where
/// the last rows are not reached.
struct Conv2DGeometry {
  int64_t batch, height, width, channels;  // x
  int64_t kernel_height, kernel_width, in_per_group;
  int64_t out_height, out_width, out_channels;  // y
  int64_t groups, out_per_group;
  std::array<int64_t, 2> strides, dilation;
  int64_t pad_top, pad_left;
};
/// `x`, `kernel`: known shapes that fit together.
Conv2DGeometry conv2d_geometry(const Conv2DDescriptor& descriptor, const Shape& x, const Shape& kernel);
/// The geometry of a call of one of the three ops below.
Conv2DGeometry conv2d_geometry(const KernelCall& call);

/// Inputs (x, kernel[, bias]).
extern const OpDef kConv2D;
/// Inputs (gradient of y, kernel) -> the gradient of x; Conv2DBackwardDescriptor.
extern const OpDef kConv2DBackwardInput;
/// Inputs (x, gradient of y) -> the gradient of kernel; Conv2DBackwardDescriptor.
extern const OpDef kConv2DBackwardKernel;

}  // namespace nyala::ops
