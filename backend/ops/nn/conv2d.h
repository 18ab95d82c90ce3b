#pragma once

#include <nyala/backend/ops/nn/convolution.h>

namespace nyala::ops {

/// Strides, dilation: rows, columns. Padding: "valid", "same" or {top, bottom, left, right}.
using Conv2DOptions = ConvolutionOptions<2>;

/// activation(correlation of x with kernel + bias): x (batch, height, width, in), kernel (rows, columns, in /
/// groups, out), bias (out) or undefined -> (batch, out height, out width, out). Dtypes as for dense(). Sizes
/// may be None while a graph is traced. Throws ShapeError where channels or groups do not fit or the output
/// would have no rows or columns.
Tensor conv2d(const Tensor& x, const Tensor& kernel, const Tensor& bias = {},
              const Conv2DOptions& options = {});

namespace detail {

/// activation(sum + correlation of x with kernel + bias), written into the bytes of `sum`, which has the
/// shape and dtype of the result. Not recorded: for inference.
void conv2d_onto(const Tensor& sum, const TensorPointers& x_kernel_bias, const Conv2DOptions& options = {});

}  // namespace detail

using Conv2DDescriptor = ConvolutionDescriptor<2>;
using Conv2DBackwardDescriptor = ConvolutionBackwardDescriptor<2>;

/// Inputs (x, kernel[, bias]).
extern const OpDef kConv2D;
/// The same, added to what its output holds, which must be given. Not differentiable.
extern const OpDef kConv2DOnto;
/// Inputs (gradient of y, kernel) -> the gradient of x; Conv2DBackwardDescriptor. By itself it is the
/// transposed convolution, and has a gradient.
extern const OpDef kConv2DBackwardInput;
/// Inputs (x, gradient of y) -> the gradient of kernel, float32 for 16-bit floats; Conv2DBackwardDescriptor.
extern const OpDef kConv2DBackwardKernel;

}  // namespace nyala::ops
