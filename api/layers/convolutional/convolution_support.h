#pragma once

#include <nyala/api/activations/activation_argument.h>
#include <nyala/api/layers/base/arguments.h>
#include <nyala/api/layers/base/as_images.h>
#include <nyala/api/layers/base/builder.h>
#include <nyala/api/layers/base/fusable.h>
#include <nyala/api/layers/base/window_sizes.h>
#include <nyala/backend/ops/nn/conv2d.h>
#include <nyala/backend/ops/nn/conv3d.h>

/// What the layers with kernels share.
namespace nyala::detail {

/// Throws InvalidArgumentError for channels first with an activation that looks along the last axis (softmax)
/// or may do so (a function): where the channels come first, that axis is another.
void check_activation_axis(const std::string& layer, const std::string& data_format,
                           const ActivationArgument& activation);

/// Throws InvalidArgumentError unless the sizes that every such configuration has are above 0.
template <class Config>
void check_kernel_sizes(const std::string& layer, const Config& config) {
  check_positive(layer, "kernel_size", config.kernel_size);
  check_positive(layer, "strides", config.strides);
  check_positive(layer, "dilation_rate", config.dilation_rate);
}

/// Checks `padding`, which it puts in lower case, `data_format` and what it allows as activation.
template <class Config>
void check_image_settings(const std::string& layer, Config& config, bool allow_causal = false) {
  config.padding = checked_padding(layer, config.padding, allow_causal);
  check_either_data_format(layer, config.data_format);
  check_activation_axis(layer, config.data_format, config.activation);
}

/// The bias of a layer with these settings, or none.
template <class Config>
Variable bias_weight(Builder& b, const Config& config, int64_t channels) {
  if (!config.use_bias) return {};
  return b.weight("bias", {channels}, config.bias_initializer,
                  {config.bias_regularizer, config.bias_constraint});
}

/// Keras' positional arguments put into the configuration.
template <class Config, class Sizes>
Config with_filters(Config config, int64_t filters, const Sizes& kernel_size) {
  config.filters = filters;
  config.kernel_size = kernel_size;
  return config;
}

/// Throws InvalidArgumentError where both are above 1.
template <size_t N>
void check_strides_or_dilation(const std::string& layer, const Size<N>& strides, const Size<N>& dilation);

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

/// The same in a pass with neighbours of the layer, on a kernel of any layer.
template <size_t N>
Tensor convolve(const Tensor& x, const FusedCall& fused, ops::ConvolutionOptions<N == 3 ? 3 : 2> options) {
  options.activation = fused.parts.activation;
  if (fused.parts.padding) options.padding = *fused.parts.padding;
  if constexpr (N == 2) {
    if (fused.sum.defined()) {
      ops::detail::conv2d_onto(fused.sum, std::array{&x, &fused.kernel, &fused.bias}, options);
      return fused.sum;
    }
  }
  return convolve<N>(std::array{&x, &fused.kernel, &fused.bias}, options);
}

/// A depthwise kernel (sizes..., channels, multiplier) as that of a convolution in as many groups as there
/// are channels: (sizes..., 1, channels * multiplier).
Tensor as_grouped_kernel(const Tensor& depthwise_kernel);

}  // namespace nyala::detail
