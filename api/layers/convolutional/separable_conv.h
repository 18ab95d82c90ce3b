#pragma once

#include <nyala/api/activations/activation_argument.h>
#include <nyala/api/base/names_required.h>
#include <nyala/api/layers/base/layer.h>
#include <nyala/api/layers/base/size.h>

namespace nyala {

/// Of SeparableConv1D and SeparableConv2D.
template <size_t N>
struct SeparableConvConfig {
  NamesRequired names_required = NamesRequired();
  int64_t filters = 0;
  Size<N> kernel_size = Size<N>::none();
  Size<N> strides = 1;
  std::string padding = "valid";  // or "same"
  std::string data_format = {};   // "channels_last", or "channels_first"
  Size<N> dilation_rate = 1;
  int64_t depth_multiplier = 1;
  ActivationArgument activation = {};
  bool use_bias = true;
  Initializer depthwise_initializer = "glorot_uniform";
  Initializer pointwise_initializer = "glorot_uniform";
  Initializer bias_initializer = "zeros";
  Regularizer depthwise_regularizer = {};
  Regularizer pointwise_regularizer = {};
  Regularizer bias_regularizer = {};
  Regularizer activity_regularizer = {};
  Constraint depthwise_constraint = {};
  Constraint pointwise_constraint = {};
  Constraint bias_constraint = {};
  std::string name = {};
  bool trainable = true;
  std::string dtype = {};

  void fields(FieldVisitor& v);
};

extern template struct SeparableConvConfig<1>;
extern template struct SeparableConvConfig<2>;

using SeparableConv1DConfig = SeparableConvConfig<1>;
using SeparableConv2DConfig = SeparableConvConfig<2>;

/// SeparableConv2D of sequences: weights depthwise_kernel (size, in, depth_multiplier) and pointwise_kernel
/// (1, in * depth_multiplier, filters).
class SeparableConv1D : public Layer {
 public:
  using Config = SeparableConv1DConfig;
  /// Throws as SeparableConv2D.
  explicit SeparableConv1D(const Config& config);
  template <size_t N>
  explicit SeparableConv1D(const NoSuchField (&)[N]) = delete;
  SeparableConv1D(int64_t filters, Size1D kernel_size, Config config = {});
  template <size_t N>
  SeparableConv1D(int64_t, Size1D, const NoSuchField (&)[N]) = delete;
};

/// A depthwise convolution (as DepthwiseConv2D, without bias and activation), whose channels a 1x1
/// convolution mixes; then bias and activation. Weights depthwise_kernel (rows, columns, in,
/// depth_multiplier) and pointwise_kernel (1, 1, in * depth_multiplier, filters).
class SeparableConv2D : public Layer {
 public:
  using Config = SeparableConv2DConfig;
  /// Throws InvalidArgumentError unless filters, kernel_size, strides, dilation_rate and depth_multiplier are
  /// above 0.
  explicit SeparableConv2D(const Config& config);
  template <size_t N>
  explicit SeparableConv2D(const NoSuchField (&)[N]) = delete;
  SeparableConv2D(int64_t filters, Size2D kernel_size, Config config = {});
  template <size_t N>
  SeparableConv2D(int64_t, Size2D, const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala
