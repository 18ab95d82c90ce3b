#pragma once

#include <nyala/api/activations/activation_argument.h>
#include <nyala/api/layers/as_images.h>
#include <nyala/api/layers/window_sizes.h>
#include <nyala/backend/ops/conv2d.h>
#include <nyala/backend/ops/conv3d.h>

/// What the layers with kernels share.
namespace nyala {

/// Throws InvalidArgumentError where both are above 1.
template <size_t N>
void check_strides_or_dilation(const std::string& layer, const Size<N>& strides, const Size<N>& dilation);

/// Throws InvalidArgumentError for channels first with an activation that looks along the last axis (softmax)
/// or may do so (a function): where the channels come first, that axis is another.
void check_activation_axis(const std::string& layer, const std::string& data_format,
                           const ActivationArgument& activation);

/// (sizes..., in, out).
template <size_t N>
Shape kernel_shape(const Size<N>& sizes, int64_t in, int64_t out);

/// "valid", "same", or for one axis "causal".
template <size_t N>
ops::Padding padding_of(const std::string& name, const Size<N>& kernel, const Size<N>& dilation);

/// conv2d or conv3d; sequences as images of one row.
template <size_t N>
Tensor convolve(const TensorPointers& x_kernel_bias, const ops::ConvolutionOptions<N == 3 ? 3 : 2>& options) {
  const Tensor &x = *x_kernel_bias[0], &kernel = *x_kernel_bias[1], &bias = *x_kernel_bias[2];
  if constexpr (N == 3)
    return ops::conv3d(x, kernel, bias, options);
  else
    return from_images<N>(ops::conv2d(as_images<N>(x), as_image_kernel<N>(kernel), bias, options));
}

/// A depthwise kernel (sizes..., channels, multiplier) as that of a convolution in as many groups as there
/// are channels: (sizes..., 1, channels * multiplier).
Tensor as_grouped_kernel(const Tensor& depthwise_kernel);

}  // namespace nyala
