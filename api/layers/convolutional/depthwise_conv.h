#pragma once

#include <nyala/api/activations/activation_argument.h>
#include <nyala/api/base/names_required.h>
#include <nyala/api/layers/base/layer.h>
#include <nyala/api/layers/base/size.h>

namespace nyala {

/// Of DepthwiseConv1D and DepthwiseConv2D.
template <size_t N>
struct DepthwiseConvConfig {
  NamesRequired names_required = NamesRequired();
  Size<N> kernel_size = Size<N>::none();
  Size<N> strides = 1;
  std::string padding = "valid";  // or "same"
  int64_t depth_multiplier = 1;
  std::string data_format = {};  // "channels_last", or "channels_first"
  Size<N> dilation_rate = 1;
  ActivationArgument activation = {};
  bool use_bias = true;
  Initializer depthwise_initializer = "glorot_uniform";
  Initializer bias_initializer = "zeros";
  Regularizer depthwise_regularizer = {};
  Regularizer bias_regularizer = {};
  Regularizer activity_regularizer = {};
  Constraint depthwise_constraint = {};
  Constraint bias_constraint = {};
  std::string name = {};
  bool trainable = true;
  std::string dtype = {};

  void fields(FieldVisitor& v);
};

extern template struct DepthwiseConvConfig<1>;
extern template struct DepthwiseConvConfig<2>;

using DepthwiseConv1DConfig = DepthwiseConvConfig<1>;
using DepthwiseConv2DConfig = DepthwiseConvConfig<2>;

/// DepthwiseConv2D of sequences: input (batch, steps, channels), kernel (size, channels, depth_multiplier).
class DepthwiseConv1D : public Layer {
 public:
  using Config = DepthwiseConv1DConfig;
  /// Throws as DepthwiseConv2D.
  explicit DepthwiseConv1D(const Config& config);
  explicit DepthwiseConv1D(Size1D kernel_size, Config config = {});
};

/// Convolves every channel by itself with depth_multiplier kernels of its own; then bias and activation.
/// Input (batch, height, width, channels), kernel (rows, columns, channels, depth_multiplier), output (batch,
/// out height, out width, channels * depth_multiplier), those of one channel side by side.
class DepthwiseConv2D : public Layer {
 public:
  using Config = DepthwiseConv2DConfig;
  /// Throws InvalidArgumentError unless kernel_size, strides, dilation_rate and depth_multiplier are above 0.
  explicit DepthwiseConv2D(const Config& config);
  explicit DepthwiseConv2D(Size2D kernel_size, Config config = {});
};

}  // namespace nyala
