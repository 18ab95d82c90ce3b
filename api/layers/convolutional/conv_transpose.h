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
  std::string dtype = {};

  void fields(FieldVisitor& v);
};

extern template struct ConvTransposeConfig<1>;
extern template struct ConvTransposeConfig<2>;
extern template struct ConvTransposeConfig<3>;

using Conv1DTransposeConfig = ConvTransposeConfig<1>;
using Conv2DTransposeConfig = ConvTransposeConfig<2>;
using Conv3DTransposeConfig = ConvTransposeConfig<3>;

/// Conv2DTranspose of sequences: input (batch, steps, in), kernel (size, filters, in).
class Conv1DTranspose : public Layer {
 public:
  using Config = Conv1DTransposeConfig;
  /// Throws as Conv2DTranspose.
  explicit Conv1DTranspose(const Config& config);
  template <size_t N>
  explicit Conv1DTranspose(const NoSuchField (&)[N]) = delete;
  Conv1DTranspose(int64_t filters, Size1D kernel_size, Config config = {});
  template <size_t N>
  Conv1DTranspose(int64_t, Size1D, const NoSuchField (&)[N]) = delete;
};

/// The transposed convolution ("deconvolution"), which makes images larger by its strides: every pixel adds
/// its multiple of the kernel to the output; then bias and activation. Input (batch, height, width, in),
/// kernel (rows, columns, filters, in). An axis of n elements becomes, with the dilated kernel's size k,
/// "same": n * stride, or where output_padding is given (n - 1) * stride + k % 2 + output_padding;
/// "valid": (n - 1) * stride + k + output_padding, where not given max(stride - k, 0).
class Conv2DTranspose : public Layer {
 public:
  using Config = Conv2DTransposeConfig;
  /// Throws InvalidArgumentError unless filters, kernel_size, strides and dilation_rate are above 0,
  /// output_padding is below strides, and strides or dilation_rate is 1.
  explicit Conv2DTranspose(const Config& config);
  template <size_t N>
  explicit Conv2DTranspose(const NoSuchField (&)[N]) = delete;
  Conv2DTranspose(int64_t filters, Size2D kernel_size, Config config = {});
  template <size_t N>
  Conv2DTranspose(int64_t, Size2D, const NoSuchField (&)[N]) = delete;
};

/// Conv2DTranspose of volumes: input (batch, depth, height, width, in), kernel (depth, rows, columns,
/// filters, in).
class Conv3DTranspose : public Layer {
 public:
  using Config = Conv3DTransposeConfig;
  /// Throws as Conv2DTranspose.
  explicit Conv3DTranspose(const Config& config);
  template <size_t N>
  explicit Conv3DTranspose(const NoSuchField (&)[N]) = delete;
  Conv3DTranspose(int64_t filters, Size3D kernel_size, Config config = {});
  template <size_t N>
  Conv3DTranspose(int64_t, Size3D, const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala
