#pragma once

#include <optional>

#include <nyala/backend/ops/nn/convolution.h>

namespace nyala::ops {

/// Of transposed convolutions over N axes.
template <size_t N>
struct ConvTransposeOptions {
  std::array<int, N> strides = filled<int, N>(1);
  std::string padding = "valid";  // or "same"
  /// Elements added behind each axis; absent: as many as give Keras' lengths (below).
  std::optional<std::array<int, N>> output_padding = {};
  std::array<int, N> dilation = filled<int, N>(1);
};

/// The transposed convolution: every pixel of x (batch, height, width, in) adds its multiple of the kernel
/// (rows, columns, out, in) to the output, strides apart; then bias (out), which may be undefined. With the
/// dilated kernel's span k, stride s and n elements of x an axis of the output has
///   "valid": (n - 1) s + k + output_padding, where absent max(s - k, 0);
///   "same": n s where output_padding is absent, else (n - 1) s + k mod 2 + output_padding
/// elements. What "same" leaves out is cut off at both ends, the odd element at the end. Source: Keras 3.15,
/// compute_conv_transpose_output_shape. Throws ShapeError where channels do not fit or the output would be
/// empty, InvalidArgumentError for output_padding >= strides.
Tensor conv2d_transpose(const Tensor& x, const Tensor& kernel, const Tensor& bias = {},
                        const ConvTransposeOptions<2>& options = {});
/// The same of volumes: x (batch, depth, height, width, in), kernel (depth, rows, columns, out, in).
Tensor conv3d_transpose(const Tensor& x, const Tensor& kernel, const Tensor& bias = {},
                        const ConvTransposeOptions<3>& options = {});

}  // namespace nyala::ops
