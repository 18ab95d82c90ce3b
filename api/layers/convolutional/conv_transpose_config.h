#pragma once

#include <nyala/api/activations/activation_argument.h>
#include <nyala/api/base/names_required.h>
#include <nyala/api/layers/base/layer.h>
#include <nyala/api/layers/base/size.h>

namespace nyala {

/// Of Conv1DTranspose, Conv2DTranspose and Conv3DTranspose.
template <size_t N>
struct ConvTransposeConfig {
  NamesRequired names_required = NamesRequired();
  int64_t filters = 0;
  Size<N> kernel_size = Size<N>::none();
  Size<N> strides = 1;
  std::string padding = "valid";             // or "same"
  Size<N> output_padding = Size<N>::none();  // not given: see Conv2DTranspose
  std::string data_format = {};              // "channels_last", or "channels_first"
  Size<N> dilation_rate = 1;
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

extern template struct ConvTransposeConfig<1>;
extern template struct ConvTransposeConfig<2>;
extern template struct ConvTransposeConfig<3>;

using Conv1DTransposeConfig = ConvTransposeConfig<1>;
using Conv2DTransposeConfig = ConvTransposeConfig<2>;
using Conv3DTransposeConfig = ConvTransposeConfig<3>;

}  // namespace nyala
