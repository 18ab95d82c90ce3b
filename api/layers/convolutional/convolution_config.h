#pragma once

#include <nyala/api/activations/activation_argument.h>
#include <nyala/api/base/names_required.h>
#include <nyala/api/layers/base/layer.h>
#include <nyala/api/layers/base/size.h>

namespace nyala {

/// Of Conv1D, Conv2D and Conv3D.
template <size_t N>
struct ConvolutionConfig {
  NamesRequired names_required = NamesRequired();
  int64_t filters = 0;
  Size<N> kernel_size = Size<N>::none();
  Size<N> strides = 1;
  std::string padding = "valid";  // or "same", Conv1D also "causal"
  std::string data_format = {};   // "channels_last", or "channels_first"
  Size<N> dilation_rate = 1;
  int64_t groups = 1;
  ActivationArgument activation = {};
  bool use_bias = true;
  Initializer kernel_initializer = "glorot_uniform";
  Initializer bias_initializer = "zeros";
  Regularizer kernel_regularizer = {};
  Regularizer bias_regularizer = {};
  Regularizer activity_regularizer = {};
  Constraint kernel_constraint = {};
  Constraint bias_constraint = {};
  std::string name = {};
  bool trainable = true;
  std::string dtype = "float32";

  void fields(FieldVisitor& v);
};

extern template struct ConvolutionConfig<1>;
extern template struct ConvolutionConfig<2>;
extern template struct ConvolutionConfig<3>;

using Conv1DConfig = ConvolutionConfig<1>;
using Conv2DConfig = ConvolutionConfig<2>;
using Conv3DConfig = ConvolutionConfig<3>;

}  // namespace nyala
