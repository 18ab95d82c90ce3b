#pragma once

#include <nyala/backend/ops/nn/convolution.h>

namespace nyala::ops {

/// Strides, dilation: depth, rows, columns. Padding: "valid", "same" or the sizes of three axes.
using Conv3DOptions = ConvolutionOptions<3>;

/// conv2d of volumes: x (batch, depth, height, width, in), kernel (depth, rows, columns, in / groups, out),
/// bias (out) or undefined -> (batch, out depth, out height, out width, out).
Tensor conv3d(const Tensor& x, const Tensor& kernel, const Tensor& bias = {},
              const Conv3DOptions& options = {});

using Conv3DDescriptor = ConvolutionDescriptor<3>;
using Conv3DBackwardDescriptor = ConvolutionBackwardDescriptor<3>;

/// As kConv2D, kConv2DBackwardInput and kConv2DBackwardKernel.
extern const OpDef kConv3D, kConv3DBackwardInput, kConv3DBackwardKernel;

}  // namespace nyala::ops
