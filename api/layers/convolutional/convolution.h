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
  int64_t lora_rank = 0;         // above 0: adapted when it is built, see Layer::enable_lora
  double lora_alpha = kNoValue;  // none: lora_rank
  std::string name = {};
  bool trainable = true;
  std::string dtype = {};

  void fields(FieldVisitor& v);
};

extern template struct ConvolutionConfig<1>;
extern template struct ConvolutionConfig<2>;
extern template struct ConvolutionConfig<3>;

using Conv1DConfig = ConvolutionConfig<1>;
using Conv2DConfig = ConvolutionConfig<2>;
using Conv3DConfig = ConvolutionConfig<3>;

/// Conv2D of sequences: input (batch, steps, in), kernel (size, in / groups, filters), output (batch, out
/// steps, filters). Padding "causal" puts all zeros in front, so that no step sees a later one.
class Conv1D : public Layer {
 public:
  using Config = Conv1DConfig;
  /// Throws as Conv2D.
  explicit Conv1D(const Config& config);
  template <size_t N>
  explicit Conv1D(const NoSuchField (&)[N]) = delete;
  Conv1D(int64_t filters, Size1D kernel_size, Config config = {});
  template <size_t N>
  Conv1D(int64_t, Size1D, const NoSuchField (&)[N]) = delete;
};

/// activation(correlation with the kernel + bias). Input (batch, height, width, in), kernel (rows, columns,
/// in / groups, filters), output (batch, out height, out width, filters). "same" pads so that the output has
/// ceil(size / stride) rows and columns; an odd row or column is added at the end.
class Conv2D : public Layer {
 public:
  using Config = Conv2DConfig;
  /// Throws InvalidArgumentError unless filters, kernel_size, strides, dilation_rate and groups are above 0,
  /// groups divide filters, and strides or dilation_rate is 1.
  explicit Conv2D(const Config& config);
  template <size_t N>
  explicit Conv2D(const NoSuchField (&)[N]) = delete;
  Conv2D(int64_t filters, Size2D kernel_size, Config config = {});
  template <size_t N>
  Conv2D(int64_t, Size2D, const NoSuchField (&)[N]) = delete;
};

/// Conv2D of volumes: input (batch, depth, height, width, in), kernel (depth, rows, columns, in / groups,
/// filters), output (batch, out depth, out height, out width, filters).
class Conv3D : public Layer {
 public:
  using Config = Conv3DConfig;
  /// Throws as Conv2D.
  explicit Conv3D(const Config& config);
  template <size_t N>
  explicit Conv3D(const NoSuchField (&)[N]) = delete;
  Conv3D(int64_t filters, Size3D kernel_size, Config config = {});
  template <size_t N>
  Conv3D(int64_t, Size3D, const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala
