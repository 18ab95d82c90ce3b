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
  std::string dtype = "float32";

  void fields(FieldVisitor& v);
};

extern template struct SeparableConvConfig<1>;
extern template struct SeparableConvConfig<2>;

using SeparableConv1DConfig = SeparableConvConfig<1>;
using SeparableConv2DConfig = SeparableConvConfig<2>;

}  // namespace nyala
